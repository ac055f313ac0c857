// Three real hub processes as one hub: what one node is told, the others do; what a dead one held, the others hold.
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entriesOf } from '../../src/audit/record.ts';
import { aNote } from '../conformance/fixtures.ts';
import { OtlpReceiver } from '../e2e/otlp-receiver.ts';
import { SseClient } from '../e2e/sse.ts';
import { clusterHealth, eventually, type Nodes, startNodes } from './nodes.ts';

const yaml = (name: string, tool = 'read_file') => `apiVersion: service/v1
kind: ContractBundle
metadata:
  name: ${name}
defaults:
  mode: enforce
contracts:
  - id: no-secrets
    type: pre
    tool: ${tool}
    when:
      args.path: { contains: ".env" }
    then:
      effect: deny
      message: "no secrets"
`;

const operatorToken = 'an-operator-token-of-the-installation';

/** Owners of shards, as this node reports them. */
const shards = (nodes: Nodes, i: number, cookie: string) => clusterHealth(nodes.at(i), { cookie });

/** Waits until every living node sees `count` nodes that own all shards, evenly and each once. */
function even(nodes: Nodes, cookie: string, count: number) {
  return eventually(`${count} nodes with an even share each`, async () => {
    for (const i of nodes.alive) {
      const seen = await shards(nodes, i, cookie);
      const all = seen.nodes.flatMap((node) => node.shards);
      if (seen.nodes.length !== count || all.length !== 256 || seen.shards.owned !== 256) return undefined;
      if (seen.nodes.some((node) => node.shard_count > Math.ceil(256 / count))) return undefined;
    }
    return true;
  });
}

/** Leaves in the store what stands there when a node dies between a write and its entry in the audit chain. */
async function leaveIntent({ mongoUrl }: Nodes, node: string) {
  const client = await new MongoClient(mongoUrl).connect();
  const note = aNote();
  const { id, tenantId } = note;
  const intents = client.db().collection<{ _id: string }>('auditIntents');
  const links = client.db().collection<{ tenantId: string; body: string }>('auditLinks');
  const intent = { at: Date.now(), node, note: JSON.stringify(note) };
  await intents.insertOne({ _id: `${tenantId}/${id}`, ...intent });
  return {
    id,
    /** The entries of its chain; undefined without any. */
    async recorded() {
      const entries = (await links.find({ tenantId }).toArray()).flatMap(({ body }) => entriesOf(body));
      return entries.length > 0 ? entries : undefined;
    },
    close: () => client.close(),
  };
}

describe('three nodes', () => {
  const collector = new OtlpReceiver();
  let nodes: Nodes;
  let cookie = '';
  let key: { id: string; key: string };
  /** Time until all shards of a killed node had owners again. */
  let deathMs = Number.POSITIVE_INFINITY;

  const open = (i: number, agent: string, withKey = key.key, query = '') =>
    SseClient.open(`${nodes.at(i).url}/api/v1/stream?env=production${query}`, {
      Authorization: `Bearer ${withKey}`,
      'X-Service-Agent-Id': agent,
    });

  beforeAll(async () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: await collector.listen(),
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
      OPERATOR_TOKEN: operatorToken,
    };
    nodes = await startNodes({ count: 3, env });
    cookie = await nodes.at(0).admin();
    key = await nodes.at(1).key(cookie);
    const { tookMs } = await even(nodes, cookie, 3);
    console.log(`shards spread over 3 nodes in ${Math.round(tookMs)} ms`);
  });
  afterAll(async () => {
    await nodes?.remove();
    collector.close();
  });

  it('say of each other that all is well', async () => {
    for (const i of [0, 1, 2]) {
      const ready = await nodes.at(i).call('GET', '/api/v1/health/ready');
      expect(ready).toMatchObject({
        status: 200,
        body: {
          workers: {
            leases: 'running',
            consumer: 'running',
            broadcast: 'running',
            sweep: 'running',
            push: 'running',
          },
        },
      });
    }
  });

  it('record their health, each its own', async () => {
    for (const i of [0, 1, 2]) {
      const { node } = await shards(nodes, i, cookie);
      const { status, body } = await nodes.at(i).call('GET', '/api/v1/health/series', { cookie });
      expect([status, body.node]).toEqual([200, node]);
      // The disks belong to the servers of MongoDB.
      expect(body.points[0]).toMatchObject({ disk_free_bytes: null, disk_total_bytes: null });
      expect(body.points[0].store_bytes).toBeGreaterThan(0);
    }
  });

  it('bring a deployment of node A to an agent on node B, and show its report on C', async () => {
    const stream = await open(1, 'agent-b');
    await nodes.at(2).call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: yaml('guard') } });
    const deployed = await nodes.at(0).call('POST', '/api/v1/bundles/guard/1/deploy', {
      cookie,
      body: { env: 'production' },
    });
    expect(deployed.status).toBe(201);
    const frame = await stream.next('contract_update');
    await nodes.at(1).call('POST', '/api/v1/agents/report', {
      key: key.key,
      agent: 'agent-b',
      body: { bundle_name: 'guard', policy_version: frame.data.revision_hash },
    });
    await eventually('the report on every node', async () => {
      const { body } = await nodes.at(2).call('GET', '/api/v1/agents/status', { cookie });
      return body.agents?.some((row: { status: string }) => row.status === 'current') || undefined;
    });
    stream.close();
  });

  it('bring the mode of isolation from A to an agent on B, and to one that connects to C just after', async () => {
    const stream = await open(1, 'agent-b', key.key, '&isolation=1');
    expect((await stream.next('isolation_changed')).data.isolation).toBe('none');
    for (const isolation of ['required', 'preferred', 'none']) {
      const from = stream.frames.length;
      const body = { isolation };
      const { status } = await nodes.at(0).call('PUT', '/api/v1/settings/tools', { cookie, body });
      expect(status).toBe(200);
      const late = await open(2, 'agent-c', key.key, '&isolation=1');
      expect((await late.next('isolation_changed')).data.isolation).toBe(isolation);
      expect((await stream.next('isolation_changed', from)).data.isolation).toBe(isolation);
      late.close();
    }
    stream.close();
  });

  it('tell an agent on B of the decision that was made on C about the approval it asked for on A', async () => {
    const stream = await open(1, 'agent-d');
    const took: number[] = [];
    for (let n = 0; n < 20; n++) {
      const asked = await nodes.at(0).call('POST', '/api/v1/approvals', {
        key: key.key,
        agent: `agent-d`,
        body: { agent_id: 'agent-d', tool_name: 'delete_file', message: 'May I?', timeout: 60 },
        headers: {},
      });
      if (asked.status === 429) break;
      expect(asked.status, JSON.stringify(asked.body)).toBe(201);
      const before = stream.frames.length;
      const begun = performance.now();
      const decided = await nodes.at(2).call('PUT', `/api/v1/approvals/${asked.body.id}`, {
        cookie,
        body: { approved: true },
      });
      expect(decided.status, JSON.stringify(decided.body)).toBe(200);
      const frame = await stream.next('approval_decided', before);
      took.push(performance.now() - begun);
      expect(frame.data).toMatchObject({ approval_id: asked.body.id, status: 'approved' });
    }
    took.sort((a, b) => a - b);
    console.log(
      `decided on C → heard on B: median ${took[took.length >> 1]?.toFixed(1)} ms of ${took.length}`,
    );
    stream.close();
  });

  it('continue a trace on the node that owns the environment', async () => {
    const traces = await Promise.all(
      [0, 1, 2].map(async (i) => {
        const traceId = `${i + 1}`.repeat(32);
        const { status } = await nodes.at(i).call('POST', '/api/v1/approvals', {
          key: key.key,
          agent: 'agent-traced',
          body: { agent_id: 'agent-traced', tool_name: 'delete_file', message: 'May I?', timeout: 60 },
          headers: { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` },
        });
        expect(status).toBe(201);
        return traceId;
      }),
    );
    const partsOf = (traceId: string) => {
      const spans = collector.spansOf(traceId);
      const find = (name: string) => spans.find((span) => span.name === name);
      return { spans, request: find('POST /api/v1/approvals'), bus: find('bus environment requestApproval') };
    };
    // One of the nodes is the owner, and needs no bus.
    const overBus = () => traces.map(partsOf).filter(({ request, bus }) => request && bus);
    await expect.poll(() => overBus().length).toBe(2);
    for (const { spans, request, bus } of overBus()) {
      expect(bus?.node).not.toBe(request?.node);
      expect(spans.map(({ spanId }) => spanId)).toContain(bus?.parentSpanId);
    }
    expect(collector.spans.filter(({ traceId }) => !traces.includes(traceId))).toEqual([]);
  });

  it('log more for a while, all of them', async () => {
    const { status } = await nodes.at(0).call('PUT', '/api/v1/operator/log-level', {
      headers: { Authorization: `Bearer ${operatorToken}` },
      body: { level: 'debug', minutes: 1 },
    });
    expect(status).toBe(200);
    const probe = async (i: number) => {
      await nodes.at(i).call('GET', '/api/v1/health/ready', { headers: { 'X-Request-Id': 'a-probe' } });
      return nodes.at(i).printed.includes('"request_id":"a-probe"');
    };
    for (const i of [0, 1, 2]) await expect.poll(() => probe(i)).toBe(true);
    await nodes.at(1).call('PUT', '/api/v1/operator/log-level', {
      headers: { Authorization: `Bearer ${operatorToken}` },
      body: { level: 'warn', minutes: 1 },
    });
  });

  it('end the streams of a key that was revoked on A, on B and C, within a second', async () => {
    const own = await nodes.at(0).key(cookie);
    const streams = await Promise.all([open(1, 'r-1', own.key), open(2, 'r-2', own.key)]);
    const begun = performance.now();
    expect((await nodes.at(0).call('DELETE', `/api/v1/keys/${own.id}`, { cookie })).status).toBeLessThan(300);
    await Promise.all(streams.map((stream) => stream.end(1000)));
    console.log(
      `streams of a revoked key ended on other nodes in ${Math.round(performance.now() - begun)} ms`,
    );
  });

  it('hold what A changes of a person and a service account on B and C, within a second', async () => {
    const [a, b, c] = [nodes.at(0), nodes.at(1), nodes.at(2)];
    const [email, password] = ['everywhere@example.com', 'correct horse battery'];
    const roles = [{ role: 'operator', env: '*' }];
    const added = await a.call('POST', '/api/v1/users', { cookie, body: { email, password, roles } });
    const own = await b.login(email, password);
    const dashboard = await SseClient.open(`${b.url}/api/v1/stream/dashboard`, { Cookie: own });
    expect(dashboard.status).toBe(200);
    const viewer = { roles: [{ role: 'viewer', env: 'staging' }] };
    const changed = await a.call('PATCH', `/api/v1/users/${added.body.user_id}`, { cookie, body: viewer });
    expect(changed.status).toBe(200);
    await dashboard.end(1000);
    const asked = () => b.call('GET', '/api/v1/events?env=production', { cookie: own });
    await expect.poll(async () => (await asked()).status, { timeout: 1000, interval: 50 }).toBe(403);
    expect((await b.call('GET', '/api/v1/auth/me', { cookie: own })).body).toMatchObject(viewer);
    await a.call('DELETE', `/api/v1/users/${added.body.user_id}/sessions`, { cookie });
    await expect.poll(async () => (await asked()).status, { timeout: 1000, interval: 50 }).toBe(401);

    const account = await a.call('POST', '/api/v1/service-accounts', { cookie, body: { name: 'ci', roles } });
    const tokens = `/api/v1/service-accounts/${account.body.id}/tokens`;
    const { token, id } = (await a.call('POST', tokens, { cookie, body: { label: 'ci' } })).body;
    const stream = await SseClient.open(`${c.url}/api/v1/stream/dashboard`, {
      Authorization: `Bearer ${token}`,
    });
    expect(stream.status).toBe(200);
    expect((await a.call('DELETE', `${tokens}/${id}`, { cookie })).status).toBe(204);
    await stream.end(1000);
    const called = () => c.call('GET', '/api/v1/contracts', { key: token });
    await expect.poll(async () => (await called()).status, { timeout: 1000, interval: 50 }).toBe(401);
  });

  it('record within 2 s of the death of one what it left, own all shards within 10 s, and lose its agents from the roster', async () => {
    const [onB, onC] = await Promise.all([open(1, 'dies'), open(2, 'lives')]);
    await eventually('both on the roster', async () => {
      const { body } = await nodes.at(0).call('GET', '/api/v1/agents/status', { cookie });
      const ids = (body.agents ?? []).map((row: { agent_id: string }) => row.agent_id);
      return (ids.includes('dies') && ids.includes('lives')) || undefined;
    });
    const { node } = await shards(nodes, 1, cookie);
    const left = await leaveIntent(nodes, node);
    // While the node lives it is the node's own to record.
    await even(nodes, cookie, 3);
    expect(await left.recorded()).toBeUndefined();
    await nodes.kill(1);
    const begun = performance.now();
    const entry = await eventually('what the dead node left to record', left.recorded);
    const owned = even(nodes, cookie, 2).then(() => performance.now() - begun);
    console.log(`kill -9 of one of three: what it left was recorded after ${Math.round(entry.tookMs)} ms`);
    expect(entry.value).toMatchObject([{ id: left.id, details: { unconfirmed: true } }]);
    expect(entry.tookMs).toBeLessThan(2000);
    const tookMs = await owned;
    console.log(`kill -9 of one of three: all 256 shards owned again after ${Math.round(tookMs)} ms`);
    expect(tookMs).toBeLessThan(10_000);
    deathMs = tookMs;
    await left.close();
    await eventually('a roster without the dead node', async () => {
      const { body } = await nodes.at(0).call('GET', '/api/v1/agents/status', { cookie });
      const ids = (body.agents ?? []).map((row: { agent_id: string }) => row.agent_id);
      return (!ids.includes('dies') && ids.includes('lives')) || undefined;
    });
    const deployed = await nodes.at(0).call('POST', '/api/v1/bundles/guard/1/deploy', {
      cookie,
      body: { env: 'production' },
    });
    expect(deployed.status).toBe(201);
    await onC.next('contract_update');
    onB.close();
    onC.close();
    await nodes.restart(1);
    await even(nodes, cookie, 3);
  });

  it('drop the role of a node that was paused, by the first answer after its waking', async () => {
    nodes.signal(0, 'SIGSTOP');
    await even(nodes, cookie, 2);
    nodes.signal(0, 'SIGCONT');
    const woken = await shards(nodes, 0, cookie);
    const own = woken.nodes.find(({ node }) => node === woken.node);
    const others = await shards(nodes, 2, cookie);
    const elsewhere = new Set(
      others.nodes.filter(({ node }) => node !== woken.node).flatMap((node) => node.shards),
    );
    expect(own?.shards.filter((shard) => elsewhere.has(shard)) ?? []).toEqual([]);
    await even(nodes, cookie, 3);
  });

  it('hand everything over when one is stopped', async () => {
    expect(await nodes.stop(2)).toBe(0);
    const { tookMs } = await even(nodes, cookie, 2);
    console.log(`SIGTERM of one of three: all 256 shards owned again after ${Math.round(tookMs)} ms`);
    // Without a handover, shards wait for the end of their leases, as after a death.
    expect(tookMs).toBeLessThan(deathMs);
  });
});
