// Coverage of agents and of the fleet, histories, and statistics of contracts.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { principalOf } from '../../src/http/contract/principal.ts';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Env } from '../../src/shared/ids.ts';
import { addComposition, addContract, definition } from '../contract/library.ts';
import { type KeyCaller, makeHub, sharedEvaluator, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  key = t.key(user);
});
afterEach(() => t.close());

let calls = 0;
const event = (tool_name: string, more: { payload?: object; [name: string]: unknown } = {}) => ({
  call_id: `call-${++calls}`,
  agent_id: 'agent-1',
  tool_name,
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: new Date(t.clock.now()).toISOString(),
  ...more,
});
const ingest = (events: object[], caller = key, agent_manifest?: object) =>
  t.call('ingestEvents', { body: { events, ...(agent_manifest ? { agent_manifest } : {}) } }, caller);

const contract = (id: string, rest: string) => `
  - id: ${id}
    type: pre
    ${rest}
    when: { args.path: { contains: x } }
    then: { effect: deny, message: no }`;

/** Deploys a document; returns its hash. */
async function deploy(name: string, contracts: string, env: Env = 'production', mode = 'enforce') {
  const yaml_content = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: ${name} }
defaults: { mode: ${mode} }
contracts:${contracts}
`;
  const { body } = await t.call('uploadBundle', { body: { yaml_content } }, user);
  const params = { name, version: String(body.version) };
  expect((await t.call('deployBundle', { params, body: { env } }, user)).status).toBe(201);
  return body.revision_hash;
}

const coverageOf = async (agent_id = 'agent-1', query = {}) =>
  (await t.call('agentCoverage', { params: { agent_id }, query }, user)).body;
const fleet = async (query: { [name: string]: string } = {}, caller = user) =>
  (await t.call('fleetCoverage', { query }, caller)).body;
const statuses = (tools: { tool_name: string; status: string; contract_name: string | null }[]) =>
  tools.map(({ tool_name, status, contract_name }) => [tool_name, status, contract_name]);

it('tells which contract of the deployed bundle governs each tool that was used', async () => {
  const hash = await deploy(
    'rules',
    contract('exact', 'tool: read_file') +
      contract('glob', 'tool: "write_*"\n    mode: observe') +
      contract('off', 'tool: bash\n    enabled: false'),
  );
  await ingest([
    event('read_file', { verdict: 'call_denied' }),
    event('read_file'),
    event('write_file', { verdict: 'call_would_deny' }),
    event('bash'),
    event('READ_FILE'),
  ]);
  const found = await coverageOf();
  expect(found).toMatchObject({
    agent_id: 'agent-1',
    environment: 'production',
    deployed_bundle: { name: 'rules', version: 1, revision_hash: hash },
    summary: { total_tools: 4, enforced: 1, observed: 1, ungoverned: 2, coverage_pct: 25 },
  });
  expect(statuses(found.tools)).toEqual([
    ['read_file', 'enforced', 'exact'],
    ['write_file', 'observed', 'glob'],
    ['READ_FILE', 'ungoverned', null],
    ['bash', 'ungoverned', null],
  ]);
  expect(found.tools[0]).toMatchObject({
    contract_type: 'pre',
    mode: 'enforce',
    bundle_name: 'rules',
    source: 'console',
    event_count: 2,
    last_used: expect.stringMatching(/Z$/),
    deny_count: null,
    allow_count: null,
  });
  const [first] = (await coverageOf('agent-1', { include_verdicts: 'true' })).tools;
  expect(first).toMatchObject({ deny_count: 1, allow_count: 1, observe_count: 0 });
});

it('counts the calls of a past range alone, and refuses a range that ends before it begins', async () => {
  await deploy('rules', contract('exact', 'tool: read_file'));
  const start = t.clock.now() - 7_200_000;
  const at = (ms: number) => new Date(start + ms).toISOString();
  const ran = { payload: { duration_ms: 5, tool_success: true } };
  await ingest([
    event('read_file', { timestamp: at(0), ...ran }),
    event('read_file', { timestamp: at(60_000), ...ran }),
    event('write_file', { timestamp: at(60_000) }),
  ]);
  const past = { since: at(0), until: at(60_000), include_durations: 'true' };
  const { tools, time_window } = await coverageOf('agent-1', past);
  expect(tools).toMatchObject([{ tool_name: 'read_file', event_count: 1, durations: { runs: 1 } }]);
  expect(time_window).toEqual({ since: at(0), until: at(60_000) });
  expect(await coverageOf('agent-1', { since: at(0) })).toMatchObject({ summary: { total_tools: 2 } });
  for (const until of [at(0), 'soon']) {
    const params = { agent_id: 'agent-1' };
    const refused = t.call('agentCoverage', { params, query: { since: at(0), until } }, user);
    await expect(refused).rejects.toMatchObject({ code: 'validation_failed' });
  }
});

it('says how long each tool ran in the newest calls, where that is asked for', async () => {
  await deploy('rules', contract('exact', 'tool: read_file'));
  const ran = (duration_ms: number) => ({ tool_success: true, duration_ms });
  const calls = [5, 250, 40].map((ms, i) => ({ ...event('read_file'), call_id: `timed-${i}`, ms }));
  await ingest(calls.map(({ ms: _, ...call }) => call));
  // A call's outcome is a repeat of its event.
  await ingest(calls.map(({ ms, ...call }) => ({ ...call, verdict: 'call_executed', payload: ran(ms) })));
  await ingest([event('write_file', { payload: { duration_ms: 0, tool_success: null } })]);
  const [read, write] = (await coverageOf('agent-1', { include_durations: 'true' })).tools;
  expect(read).toMatchObject({
    tool_name: 'read_file',
    event_count: 3,
    durations: { runs: 3, p50_ms: 40, p95_ms: 250, max_ms: 250 },
  });
  expect(write).toMatchObject({ tool_name: 'write_file', durations: null });
  for (const tool of (await coverageOf()).tools) expect(tool).not.toHaveProperty('durations');
});

it("names the library's contract, whichever of its entries in the document governs the tool", async () => {
  await addContract(t, user, 'many', {
    definition: { ...definition(), tool: undefined, tools: ['read', 'write'] },
  });
  await addContract(t, user, 'many-2', { definition: { ...definition(), tool: 'list' } });
  await addComposition(t, user, 'team', ['many', 'many-2']);
  expect((await t.call('deployComposition', { params: { name: 'team' } }, user)).status).toBe(201);
  await ingest(['read', 'write', 'list'].map((tool) => event(tool)));
  const { tools } = await coverageOf();
  expect(tools.map(({ tool_name, contract_name }) => [tool_name, contract_name])).toEqual([
    ['list', 'many-2'],
    ['read', 'many'],
    ['write', 'many'],
  ]);
  await ingest([
    event('read', { verdict: 'call_denied', payload: { decision_name: 'many' } }),
    event('write', { verdict: 'call_denied', payload: { decision_name: 'many-3' } }),
    event('list', { payload: { decision_name: 'many-2' } }),
  ]);
  expect((await t.call('statsContracts', { query: {} }, user)).body.coverage).toMatchObject([
    { decision_name: 'many', total_evaluations: 2, total_denials: 2 },
    { decision_name: 'many-2', total_evaluations: 1 },
  ]);
});

it("names a version's contracts by its own record, also where another tenant deployed the same text", async () => {
  await addContract(t, user, 'many', {
    definition: { ...definition(), tool: undefined, tools: ['read', 'write'] },
  });
  await addComposition(t, user, 'team', ['many']);
  const named = { params: { name: 'team' } };
  const { yaml_content } = (await t.call('previewComposition', named, user)).body;
  const other = await t.tenant();
  const { version } = (await t.call('uploadBundle', { body: { yaml_content } }, other)).body;
  const params = { name: 'team', version: String(version) };
  await t.call('deployBundle', { params, body: { env: 'production' } }, other);
  await t.call('deployComposition', named, user);
  const contractsFor = async (caller: UserCaller) => {
    await ingest([event('read'), event('write')], t.key(caller));
    const { body } = await t.call('agentCoverage', { params: { agent_id: 'agent-1' } }, caller);
    return body.tools.map(({ contract_name }) => contract_name);
  };
  expect(await contractsFor(other)).toEqual(['many', 'many-2']);
  expect(await contractsFor(user)).toEqual(['many', 'many']);
});

it('of a contract with two tools agree with searches, filters and what needs attention', async () => {
  await addContract(t, user, 'many', {
    definition: { ...definition(), tool: undefined, tools: ['read', 'write'] },
  });
  await addComposition(t, user, 'team', ['many']);
  const { body: release } = await t.call('deployComposition', { params: { name: 'team' } }, user);
  const { revision_hash: policy_version } = (
    await t.call(
      'getBundleVersion',
      { params: { name: 'team', version: String(release.bundle_version) } },
      user,
    )
  ).body;
  const denied = (tool: string, decision_name: string) =>
    event(tool, { verdict: 'call_denied', payload: { decision_name, policy_version } });
  await ingest([
    denied('read', 'many'),
    ...Array.from({ length: 24 }, () => denied('write', 'many-2')),
    denied('other', 'many-3'),
  ]);
  const toolsFound = async (query: { [name: string]: string }) => {
    const { body } = await t.call('searchEvents', { query: { ...query, limit: '100' } }, user);
    return body.map(({ tool_name }) => tool_name).sort();
  };
  const all = ['read', ...Array.from({ length: 24 }, () => 'write')];
  for (const query of [{ q: 'contract:many' }, { q: 'contract:m*y' }, { decision_name: 'many' }])
    expect([query, await toolsFound(query)]).toEqual([query, all]);
  expect(await toolsFound({ q: '-contract:many' })).toEqual(['other']);
  expect(await toolsFound({ q: 'contract:many-2' })).toEqual(all.slice(1));
  const { facets } = (await t.call('eventFacets', { query: {} }, user)).body;
  expect(facets.decision_name.top).toEqual([
    { value: 'many', count: 25 },
    { value: 'many-3', count: 1 },
  ]);
  // All of the newest calls were decided by the second entry.
  const { items } = (await t.call('attention', { query: {} }, user)).body;
  expect(items.find(({ kind }) => kind === 'deny_spike')).toMatchObject({
    subject: { id: 'many' },
    count: 25,
    facts: { version: release.bundle_version },
  });
  const read = (contract_id: string, query = {}) =>
    t.call('getContract', { params: { contract_id }, query }, user);
  expect((await read('many-2', { entry: 'true' })).body.contract_id).toBe('many');
  await expect(read('many-2')).rejects.toMatchObject({ code: 'not_found' });
  await expect(read('many-3', { entry: 'true' })).rejects.toMatchObject({ code: 'not_found' });
});

it('counts a copy that observes as its contract, and a call once that both decided', async () => {
  await addContract(t, user, 'one');
  await addComposition(t, user, 'team', ['one'], { update_strategy: 'observe_first' });
  const params = { contract_id: 'one' };
  await t.call('updateContract', { params, body: { definition: definition('^/var/') } }, user);
  await t.call('deployComposition', { params: { name: 'team' } }, user);
  const observed = { verdict: 'call_would_deny', mode: 'observe', call_id: 'both' };
  await ingest([
    event('read_file', { ...observed, payload: { decision_name: 'one-obs' } }),
    event('read_file', { ...observed, payload: { decision_name: 'one' } }),
    event('read_file', {
      verdict: 'call_would_deny',
      mode: 'observe',
      payload: { decision_name: 'one-obs' },
    }),
  ]);
  // The store now has sums of whole minutes, by the names in events.
  await t.clock.advance(600_000);
  expect((await t.call('statsContracts', { query: {} }, user)).body.coverage).toMatchObject([
    { decision_name: 'one', total_evaluations: 2, total_warnings: 2 },
  ]);
  const query = { q: 'contract:one' };
  expect((await t.call('searchEvents', { query }, user)).body.map(({ call_id }) => call_id)).toHaveLength(2);
  const entry = { params: { contract_id: 'one-obs' }, query: { entry: 'true' } };
  expect((await t.call('getContract', entry, user)).body.contract_id).toBe('one');
});

it('lets events and contracts be read by their entries while documents cannot be read', async () => {
  await addContract(t, user, 'many', {
    definition: { ...definition(), tool: undefined, tools: ['read', 'write'] },
  });
  await addComposition(t, user, 'team', ['many']);
  await t.call('deployComposition', { params: { name: 'team' } }, user);
  await ingest([event('write', { verdict: 'call_denied', payload: { decision_name: 'many-2' } })]);
  const contractsOf = () => Promise.reject(new HubError('overloaded', 'Too many documents.'));
  const { app } = t.changed({ evaluator: { ...sharedEvaluator(), listContracts: contractsOf } });
  const reader = principalOf(user);
  await expect(
    app.statistics.contracts(reader, { env: null, since: 0, until: t.clock.now() }),
  ).rejects.toMatchObject({ code: 'overloaded' });
  const filter = await app.eventSearches.withEntries(reader, { env: null, decisionName: 'many' });
  expect((await app.eventSearches.search(reader, filter, 10, null)).events).toHaveLength(1);
  const { by } = await app.eventSearches.facets(reader, { env: null });
  expect(by.decisionName.top).toEqual([{ value: 'many', count: 1 }]);
  expect((await app.contracts.get(reader, 'many-2', true)).contract.contractId).toBe('many');
});

it('counts a call once that two overlapping entries of one contract decided', async () => {
  await addContract(t, user, 'globs', {
    definition: { ...definition(), tool: undefined, tools: ['read_*', '*_file'] },
  });
  await addComposition(t, user, 'team', ['globs']);
  expect((await t.call('deployComposition', { params: { name: 'team' } }, user)).status).toBe(201);
  const call = { call_id: 'both' };
  await ingest([
    event('read_file', {
      ...call,
      verdict: 'call_would_deny',
      mode: 'observe',
      payload: { decision_name: 'globs' },
    }),
    event('read_file', {
      ...call,
      verdict: 'call_would_deny',
      mode: 'observe',
      payload: { decision_name: 'globs-2' },
    }),
    event('write_file', { verdict: 'call_denied', payload: { decision_name: 'globs-2' } }),
  ]);
  expect((await t.call('statsContracts', { query: {} }, user)).body.coverage).toEqual([
    expect.objectContaining({
      decision_name: 'globs',
      total_evaluations: 2,
      total_denials: 1,
      total_warnings: 1,
    }),
  ]);
  expect((await t.call('statsOverview', {}, user)).body).toMatchObject({ contracts_triggered_24h: 1 });
  // By the counts of the store, and by reading events.
  for (const q of ['', '-absent']) {
    const { facets } = (await t.call('eventFacets', { query: q ? { q } : {} }, user)).body;
    expect(facets.decision_name.top).toEqual([{ value: 'globs', count: 2 }]);
  }
  expect(await coverageOf()).toMatchObject({
    summary: { total_tools: 2, enforced: 2 },
    tools: [{ contract_name: 'globs' }, { contract_name: 'globs' }],
  });
});

it('honours the mode that the document gives where a contract has none', async () => {
  await deploy('rules', contract('a', 'tool: read'), 'production', 'observe');
  await ingest([event('read')]);
  expect(statuses((await coverageOf()).tools)).toEqual([['read', 'observed', 'a']]);
});

it('counts the bundle that the agent follows, not others of its environment', async () => {
  await deploy('mine', contract('a', 'tool: read'));
  await deploy('theirs', contract('b', 'tool: "*"'));
  await ingest([event('read'), event('write')]);
  // Of an agent that follows all, all count.
  expect((await coverageOf()).summary).toMatchObject({ enforced: 2 });
  const params = { agent_id: 'agent-1' };
  await t.call('updateRegistration', { params, body: { bundle_name: 'mine' } }, user);
  const found = await coverageOf();
  expect(statuses(found.tools)).toEqual([
    ['read', 'enforced', 'a'],
    ['write', 'ungoverned', null],
  ]);
  expect(found.deployed_bundle?.name).toBe('mine');
  expect((await fleet()).agents[0]).toMatchObject({ enforced: 1, ungoverned: 1, coverage_pct: 50 });
});

it('falls back to what the agent said of its own rules while its bundle is not deployed', async () => {
  const manifest = (agent_id: string) => ({
    agent_id,
    policy_version: 'local-1',
    contracts: [
      { id: 'own', type: 'pre', tool: ['read', 'list_*'], mode: 'enforce' },
      { id: 'watch', type: 'post', tool: 'write', mode: 'observe' },
    ],
  });
  await ingest([event('read'), event('list_all'), event('write'), event('bash')], key, manifest('agent-1'));
  await deploy('elsewhere', contract('a', 'tool: bash'), 'staging');
  const found = await coverageOf();
  expect(found.deployed_bundle).toBeNull();
  expect(found.tools.map((tool) => [tool.tool_name, tool.status, tool.source, tool.bundle_name])).toEqual([
    ['list_all', 'enforced', 'local', 'local'],
    ['read', 'enforced', 'local', 'local'],
    ['write', 'observed', 'local', 'local'],
    ['bash', 'ungoverned', null, null],
  ]);
  expect((await fleet()).agents).toMatchObject([{ agent_id: 'agent-1', enforced: 2, observed: 1 }]);
  await deploy('rules', contract('a', 'tool: bash'));
  expect((await coverageOf()).summary).toMatchObject({ enforced: 1, ungoverned: 3 });
});

it('takes time ranges as amounts and times, and refuses others', async () => {
  await ingest([event('old')]);
  t.clock.advance(90 * 60_000);
  await ingest([event('new')]);
  const tools = async (since: string) =>
    (await coverageOf('agent-1', { since })).tools.map(({ tool_name }) => tool_name);
  expect(await tools('1h')).toEqual(['new']);
  expect(await tools('2h')).toEqual(['new', 'old']);
  expect(await tools('91m')).toEqual(['new', 'old']);
  expect(await tools(new Date(t.clock.now()).toISOString())).toEqual(['new']);
  for (const since of ['0h', '3651d', '5w', 'yesterday', '-1h', '1.5h']) {
    await expect(tools(since)).rejects.toMatchObject({ code: 'bad_request' });
    await expect(fleet({ since })).rejects.toMatchObject({ code: 'bad_request' });
  }
  t.clock.advance(25 * 3_600_000);
  await expect(tools('24h')).rejects.toMatchObject({ code: 'not_found' });
  await expect(coverageOf('nobody')).rejects.toMatchObject({ code: 'not_found' });
});

it('shows the fleet in pages, with drift and a summary of all', async () => {
  const hash = await deploy('rules', contract('a', 'tool: read'));
  for (const [id, version] of [
    ['a', hash],
    ['b', 'older'],
    ['c', null],
  ] as const) {
    const payload = version === null ? {} : { policy_version: version, bundle_name: 'rules' };
    await ingest([event('read', { agent_id: id, payload }), event(`own-${id}`, { agent_id: id, payload })]);
  }
  await ingest([event('read', { agent_id: 'd' })], t.key(user, 'staging'));
  const all = await fleet();
  expect(all.agents.map((agent) => [agent.agent_id, agent.environment, agent.drift_status])).toEqual([
    ['a', 'production', 'current'],
    ['b', 'production', 'drift'],
    ['c', 'production', 'unknown'],
    ['d', 'staging', 'unknown'],
  ]);
  expect(all.agents[0]).toMatchObject({ total_tools: 2, enforced: 1, ungoverned: 1, event_count_24h: 2 });
  expect(all.fleet_summary).toEqual({
    total_agents: 4,
    fully_enforced: 0,
    with_ungoverned: 4,
    with_drift: 1,
    total_ungoverned_tools: 4,
    ungoverned_tools: [
      { tool_name: 'own-a', agent_count: 1, agent_ids: ['a'] },
      { tool_name: 'own-b', agent_count: 1, agent_ids: ['b'] },
      { tool_name: 'own-c', agent_count: 1, agent_ids: ['c'] },
      { tool_name: 'read', agent_count: 1, agent_ids: ['d'] },
    ],
  });
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof fleet>> = await fleet({
      limit: '3',
      ...(cursor ? { cursor } : {}),
    });
    seen.push(...page.agents.map(({ agent_id }) => agent_id));
    expect(page.fleet_summary).toEqual(all.fleet_summary);
    cursor = page.next_cursor;
  } while (cursor !== null);
  expect(seen).toEqual(['a', 'b', 'c', 'd']);
  expect((await fleet({ env: 'staging' })).agents.map(({ agent_id }) => agent_id)).toEqual(['d']);
  expect((await fleet({}, await t.tenant())).agents).toEqual([]);
  const sealed = (await fleet({ limit: '1' })).next_cursor ?? '';
  await expect(fleet({ cursor: sealed }, await t.tenant())).rejects.toMatchObject({ code: 'bad_request' });
  for (const bad of [{ limit: '0' }, { limit: '5001' }, { env: 'nowhere' }]) {
    await expect(fleet(bad as never)).rejects.toMatchObject({ code: 'validation_failed' });
  }
});

it('names at most 100 agents of a tool, and how many there are', async () => {
  await ingest(Array.from({ length: 120 }, (_, i) => event('bash', { agent_id: `agent-${i}` })));
  const [tool] = (await fleet()).fleet_summary.ungoverned_tools;
  expect([tool?.agent_count, tool?.agent_ids.length]).toEqual([120, 100]);
});

it('tells what was deployed for an agent, and how long it ran something else', async () => {
  const runs = (policy_version: string) =>
    ingest([event('read', { payload: { policy_version, bundle_name: 'rules' } })]);
  const first = await deploy('rules', contract('a', 'tool: read'));
  t.clock.advance(60_000);
  await runs(first);
  t.clock.advance(60_000);
  const second = await deploy('rules', contract('b', 'tool: read'));
  t.clock.advance(5_500);
  await runs(second);
  t.clock.advance(60_000);
  const third = await deploy('rules', contract('c', 'tool: read'));
  await deploy('other', contract('x', 'tool: read'));
  t.clock.advance(1_000);
  const history = async (query = {}) =>
    (await t.call('agentHistory', { params: { agent_id: 'agent-1' }, query }, user)).body;
  const { environment, events } = await history();
  expect(environment).toBe('production');
  const told = events.map(({ type, revision_hash, expected_version, actual_version, ...rest }) => [
    type,
    revision_hash ?? expected_version ?? rest.policy_version ?? rest.environment,
    actual_version ?? rest.drift_duration_seconds,
  ]);
  const ofRules = told.filter(([, what]) => what !== null);
  expect(ofRules).toEqual(
    expect.arrayContaining([
      ['deployment', third, null],
      ['drift_detected', third, second],
      ['drift_resolved', second, 5],
      ['deployment', second, null],
      ['drift_detected', second, first],
      ['first_seen', 'production', null],
      ['deployment', first, null],
    ]),
  );
  // It never ran the other bundle, and the first was deployed before it was there.
  expect(told.filter(([type]) => type === 'drift_detected')).toHaveLength(2);
  const times = events.map(({ timestamp }) => timestamp);
  expect(times).toEqual([...times].sort().reverse());
  expect((await history({ limit: '1' })).events.filter(({ type }) => type === 'deployment')).toHaveLength(1);
  const other = { params: { agent_id: 'agent-1' } };
  await expect(t.call('agentHistory', other, await t.tenant())).rejects.toMatchObject({ code: 'not_found' });
  await expect(history({ limit: '201' })).rejects.toMatchObject({ code: 'validation_failed' });
});

it('follows a connected agent to the bundle of its stream', async () => {
  await deploy('mine', contract('a', 'tool: read'));
  await deploy('theirs', contract('b', 'tool: "*"'));
  const stream = await streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1')).admitAgent(
    key,
    { env: 'production', bundle_name: 'mine' },
    'connection-1',
  );
  await stream.catchUp();
  await ingest([event('write')]);
  expect((await coverageOf()).summary).toMatchObject({ enforced: 0, ungoverned: 1 });
});

it('counts how contracts decided: a call once for each contract', async () => {
  const named = (decision_name: string | null) => ({ payload: { decision_name } });
  const twice = event('read', named('x'));
  await ingest([
    twice,
    event('read', { verdict: 'call_denied', ...named('x') }),
    event('read', { verdict: 'call_would_deny', ...named('y') }),
    event('read', named(null)),
  ]);
  await ingest([{ ...twice, verdict: 'call_executed' }]);
  const stats = async (query: { [name: string]: string } = {}, caller = user) =>
    (await t.call('statsContracts', { query }, caller)).body;
  const found = await stats();
  expect(found.total_events).toBe(4);
  expect(found.coverage).toEqual([
    {
      decision_name: 'x',
      total_evaluations: 2,
      total_denials: 1,
      total_warnings: 0,
      last_triggered: expect.stringMatching(/Z$/),
    },
    expect.objectContaining({ decision_name: 'y', total_evaluations: 1, total_warnings: 1 }),
  ]);
  expect((await stats({ env: 'staging' })).total_events).toBe(0);
  const now = new Date(t.clock.now()).toISOString();
  expect(await stats({ until: now })).toMatchObject({ total_events: 0, period_end: now });
  expect((await stats({ since: now, until: now })).coverage).toEqual([]);
  expect((await stats({}, await t.tenant())).total_events).toBe(0);
  await expect(stats({ since: now, until: '2001-01-01T00:00:00Z' })).rejects.toMatchObject({
    code: 'unprocessable',
  });
  await expect(stats({ since: 'soon' })).rejects.toMatchObject({ code: 'validation_failed' });
});

it('is in every row of the list of agents, as the coverage of the fleet says it', async () => {
  await deploy(
    'rules',
    contract('exact', 'tool: read_file') + contract('glob', 'tool: "write_*"\n    mode: observe'),
  );
  const staging = t.key(user, 'staging', 'agent-2');
  await ingest([event('read_file'), event('write_file'), event('bash')]);
  await ingest([event('read_file', { agent_id: 'agent-2' })], t.key(user, 'production', 'agent-2'));
  await ingest([event('bash', { agent_id: 'agent-2' })], staging);
  await ingest([event('bash', { agent_id: 'older' })], t.key(user, 'production', 'older'));
  t.clock.advance(24 * 3_600_000);
  await ingest([event('read_file')]);
  await ingest([event('read_file', { agent_id: 'agent-2' })], t.key(user, 'production', 'agent-2'));
  const rows = async (query: { [name: string]: string } = {}) =>
    (await t.call('listAgents', { query }, user)).body;
  for (const query of [{}, { env: 'production' }, { env: 'staging' }]) {
    const covered = new Map(
      (await fleet(query)).agents.map(({ agent_id, environment: _, ...one }) => [agent_id, one]),
    );
    for (const { agent_id, coverage } of await rows(query)) {
      const { drift_status: _, last_seen: __, event_count_24h: ___, ...counts } = covered.get(agent_id) ?? {};
      expect({ agent_id, coverage }).toEqual({
        agent_id,
        coverage: covered.has(agent_id) ? counts : null,
      });
    }
  }
  expect((await rows()).map(({ agent_id, coverage }) => [agent_id, coverage?.total_tools])).toEqual([
    ['agent-1', 3],
    ['agent-2', 2],
    ['older', 1],
  ]);
  // All that it did is older than a day.
  t.clock.advance(24 * 3_600_000 + 1);
  await ingest([event('read_file')]);
  expect((await rows()).map(({ coverage }) => coverage?.coverage_pct ?? null)).toEqual([100, null, null]);
  const other = await t.tenant();
  expect((await t.call('listAgents', { query: {} }, other)).body).toEqual([]);
});
