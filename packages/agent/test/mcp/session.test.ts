// A session of the MCP proxy: what is judged, hidden, handed on, cancelled and asked about, with a scripted client and
// server.
import { describe, expect, it } from 'vitest';
import { itAtNight } from '../../../../test/runs.ts';
import type { ApprovalRequest } from '../../src/index.ts';
import { until } from '../manual-clock.ts';
import { noEnv, rules, Setting } from './setting.ts';

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
const ok = () => ({ result: text('done') });
const introduction = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } }, logging: {} },
  serverInfo: { name: 'files', version: '1' },
};
const ask = (more = '') =>
  `{ id: ask, type: pre, tool: pay, when: { args.amount: { gt: 5 } }, then: { effect: approve, message: "pay {args.amount}?", timeout: 60${more} } }`;

describe('calls', () => {
  it('reach the server when they are allowed, and are answered with the reason when not', async () => {
    const proxy = new Setting(rules(noEnv), ok);
    proxy.call(1, 'read', { path: 'a.txt' });
    proxy.call(2, 'read', { path: '.env' });
    expect(await proxy.answered(1)).toMatchObject({ result: text('done') });
    expect(await proxy.answered(2)).toMatchObject({ result: { isError: true, ...text('Denied: secrets') } });
    expect(proxy.atServer).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read', arguments: { path: 'a.txt' } } },
    ]);
    expect(proxy.guard.events.events.map(({ action }) => action).sort()).toEqual([
      'call_allowed',
      'call_denied',
      'call_executed',
    ]);
  });

  itAtNight(
    'are never refused in a session of 1,000 calls that no contract limits',
    async () => {
      const proxy = new Setting(rules(noEnv), ok);
      for (let id = 0; id < 1_000; id++) proxy.call(id, 'read', { path: 'a.txt' });
      await until(() => proxy.got.length === 1_000);
      expect(
        proxy.got.filter(({ result }) => (result as { isError?: boolean })?.isError !== undefined),
      ).toEqual([]);
      expect(proxy.atServer).toHaveLength(1_000);
    },
    60_000,
  );

  it('run side by side, and are answered as the server answers', async () => {
    const proxy = new Setting(rules(noEnv), () => undefined);
    for (let id = 0; id < 50; id++) proxy.call(id, 'read', { path: String(id) });
    await until(() => proxy.atServer.length === 50);
    for (let id = 49; id >= 0; id--) proxy.serve({ id, result: text(`file ${id}`) });
    await until(() => proxy.got.length === 50);
    expect(proxy.got.map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, i) => 49 - i));
    expect(proxy.got[0]).toMatchObject({ result: text('file 49') });
    expect(proxy.session.isBusy).toBe(false);
  });

  it('have their results and errors judged', async () => {
    const hide =
      '{ id: numbers, type: post, tool: read, when: { output.text: { matches: "[0-9]{3}-[0-9]{4}" } }, then: { effect: redact, message: hidden } }';
    const proxy = new Setting(rules(hide), ({ params }) =>
      (params.arguments as { fail?: boolean }).fail
        ? { error: { code: -32001, message: 'no call 555-1234', data: { n: 1 } } }
        : { result: { ...text('call 555-1234'), structuredContent: { n: '555-1234' } } },
    );
    proxy.call(1, 'read');
    expect(JSON.stringify(await proxy.answered(1))).not.toContain('555-1234');
    proxy.call(2, 'read', { fail: true });
    expect(await proxy.answered(2)).toMatchObject({
      error: { code: -32603, message: 'no call [REDACTED] {"n":1}' },
    });
    proxy.answer = () => ({ error: { code: -32001, message: 'gone', data: [1] } });
    proxy.call(3, 'read');
    expect(await proxy.answered(3)).toMatchObject({ error: { code: -32001, message: 'gone', data: [1] } });
    expect(proxy.guard.events.last()).toMatchObject({ action: 'call_failed' });
  });

  it('are refused by the protocol when they cannot be judged', async () => {
    const proxy = new Setting(rules(noEnv), ok);
    proxy.call(1, 'a/b');
    proxy.call(2, 'read', {}, { task: { ttl: 1 } });
    expect(await proxy.answered(1)).toMatchObject({ error: { code: -32602 } });
    expect(await proxy.answered(2)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('task') },
    });
    // Without an id nobody could be told: it does not run at all.
    proxy.say({ method: 'tools/call', params: { name: 'read', arguments: { path: 'a' } } });
    proxy.call(3, 'read');
    proxy.call(3, 'read');
    await until(() => proxy.got.length === 4);
    expect(proxy.got.filter(({ id }) => id === 3)).toEqual([
      expect.objectContaining({ error: expect.objectContaining({ code: -32600 }) }),
      expect.objectContaining({ result: text('done') }),
    ]);
    expect(proxy.atServer).toHaveLength(1);
  });

  it('tell contracts which server and client they are between', async () => {
    const rule =
      '{ id: only, type: pre, tool: "*", when: { metadata.mcp.server: { equals: files } }, then: { effect: deny, message: "not {metadata.mcp.client} at {metadata.mcp.server}" } }';
    const proxy = new Setting(rules(rule), () => ({ result: introduction }));
    await proxy.greet();
    proxy.call(1, 'read');
    expect(await proxy.answered(1)).toMatchObject({ result: text('Denied: not tester at files') });
  });

  it('tell contracts their own client where several modern clients share a session', async () => {
    const rule =
      '{ id: only, type: pre, tool: "*", when: { metadata.mcp.client: { exists: true } }, then: { effect: deny, message: "not {metadata.mcp.client}" } }';
    const proxy = new Setting(rules(rule), () => ({ result: introduction }));
    const names = ['one', 'two', 'x'.repeat(200), undefined];
    for (const [id, name] of names.entries())
      proxy.call(
        id,
        'read',
        {},
        {
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            ...(name === undefined ? {} : { 'io.modelcontextprotocol/clientInfo': { name, version: '1' } }),
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      );
    for (const [id, name] of names.entries())
      expect(await proxy.answered(id)).toMatchObject({
        result: text(`Denied: not ${name?.slice(0, 128) ?? 'the client'}`),
      });
  });
});

describe('everything else', () => {
  it('goes through both ways as it is', async () => {
    const proxy = new Setting(rules(noEnv), ({ method }) =>
      method === 'resources/read' ? { result: { contents: [] } } : undefined,
    );
    proxy.say({ id: 1, method: 'resources/read', params: { uri: 'file:///.env' } });
    expect(await proxy.answered(1)).toEqual({ jsonrpc: '2.0', id: 1, result: { contents: [] } });
    proxy.say({ method: 'notifications/roots/list_changed' });
    proxy.serve({ id: 'ask', method: 'sampling/createMessage', params: { messages: [] } });
    proxy.serve({ method: 'notifications/message', params: { level: 'info', data: 'x' } });
    proxy.say({ id: 'ask', result: { role: 'assistant' } });
    expect(proxy.got.slice(1)).toEqual([
      { jsonrpc: '2.0', id: 'ask', method: 'sampling/createMessage', params: { messages: [] } },
      { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } },
    ]);
    expect(proxy.atServer.slice(1)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
      { jsonrpc: '2.0', id: 'ask', result: { role: 'assistant' } },
    ]);
  });

  it('is changed in the introduction alone: lists may change, and calls are no tasks', async () => {
    const proxy = new Setting(rules(noEnv), () => ({ result: introduction }));
    expect(await proxy.greet()).toEqual({
      jsonrpc: '2.0',
      id: 'hello',
      result: { ...introduction, capabilities: { tools: { listChanged: true }, logging: {} } },
    });
  });
});

describe('a question of the server', () => {
  const calm =
    '{ id: numbers, type: post, tool: read, when: { output.text: { matches: "[0-9]{3}-[0-9]{4}" } }, then: { effect: redact, message: hidden } }';
  const elicitation = (id: string, message: string, more: object = {}) => ({
    id,
    method: 'elicitation/create',
    params: { message, requestedSchema: { type: 'object', properties: {} }, ...more },
  });
  const opened = async (...tools: string[]): Promise<Setting> => {
    const proxy = new Setting(rules(calm), () => undefined);
    tools.forEach((tool, i) => void proxy.call(i + 1, tool));
    await until(() => proxy.atServer.length === tools.length);
    return proxy;
  };

  it('reaches the client, and its answers are recorded with the call, redacted and bounded', async () => {
    const proxy = await opened('read');
    proxy.serve(elicitation('q1', 'which?', { task: { ttl: 1 } }));
    expect(await proxy.heard('elicitation/create')).toEqual({
      jsonrpc: '2.0',
      ...elicitation('q1', 'which?'),
    });
    proxy.say({ id: 'q1', result: { action: 'accept', content: { password: 'hunter2' } } });
    proxy.serve({ id: 'q2', method: 'roots/list', params: {} });
    proxy.say({ id: 'q2', error: { code: -32_601, message: 'none' } });
    proxy.serve({ id: 'q3', method: 'sampling/createMessage', params: { messages: [] } });
    proxy.say({ id: 'q3', result: { content: Array(10).fill(text('x'.repeat(900))) } });
    proxy.serve({ id: 1, result: text('done') });
    expect(await proxy.answered(1)).toMatchObject({ result: text('done') });
    expect(proxy.atServer.slice(1).map(({ id }) => id)).toEqual(['q1', 'q2', 'q3']);
    const last = proxy.guard.events.last();
    expect(last).toMatchObject({
      action: 'call_executed',
      rounds: 3,
      answers: [
        { round: 2, answers: { 'question-1': { action: 'accept' } } },
        { round: 3, answers: { _truncated: true } },
      ],
    });
    expect(JSON.stringify(last)).not.toContain('hunter2');
  });

  it('that a contract changes ends its call, and is not put to the client', async () => {
    const proxy = await opened('pay', 'read');
    // It belongs to no call by itself: each one's contracts judge it.
    proxy.serve(elicitation('q1', 'call 555-1234?'));
    const { result } = await proxy.answered(2);
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain('call [REDACTED]?');
    expect(proxy.atServer.slice(2)).toMatchObject([
      { id: 'q1', error: { code: -32_000 } },
      { method: 'notifications/cancelled', params: { requestId: 2 } },
    ]);
    expect(proxy.guard.events.last()).toMatchObject({
      action: 'call_executed',
      postconditions_passed: false,
    });
    proxy.serve({ id: 2, result: text('late') });
    proxy.serve(elicitation('q2', 'call 555-1234?'));
    expect(await proxy.heard('elicitation/create')).toMatchObject({ id: 'q2' });
    expect(proxy.got).toHaveLength(2);
  });

  it('about tasks is refused', async () => {
    const proxy = new Setting(rules(calm), ({ method }) =>
      method === 'initialize' ? { result: introduction } : undefined,
    );
    await proxy.greet({ elicitation: {}, tasks: { requests: { elicitation: { create: {} } } } });
    expect(proxy.atServer[0]).toMatchObject({ params: { capabilities: { elicitation: {} } } });
    expect(JSON.stringify(proxy.atServer[0])).not.toContain('tasks');
    proxy.serve({ id: 'q1', method: 'tasks/get', params: { taskId: 't' } });
    expect(proxy.atServer.at(-1)).toMatchObject({ id: 'q1', error: { code: -32_601 } });
    expect(proxy.got.filter(({ method }) => method !== undefined)).toEqual([]);
  });
});

describe('the list of tools', () => {
  const always =
    '{ id: never, type: pre, tool: "delete_*", when: { tool.name: { exists: true } }, then: { effect: deny, message: never } }';
  const byRole =
    '{ id: clerks, type: pre, tool: pay, when: { principal.role: { equals: clerk } }, then: { effect: deny, message: never } }';
  const observed =
    '{ id: seen, type: pre, tool: write, mode: observe, when: { tool.name: { exists: true } }, then: { effect: deny, message: never } }';
  const names = ['delete_file', 'pay', 'read', 'write'];
  const listed = ({ method }: { method: string }) =>
    method === 'tools/list'
      ? { result: { tools: names.map((name) => ({ name })), nextCursor: 'c' } }
      : { result: introduction };
  const namesIn = ({ result }: { result?: unknown }) =>
    (result as { tools: { name: string }[] }).tools.map(({ name }) => name);

  it('leaves out what is refused whatever the arguments, and only when it is told to', async () => {
    const contracts = rules(always, byRole, observed, noEnv);
    const hiding = new Setting(contracts, listed, { hide: true, principal: { role: 'clerk' } });
    hiding.say({ id: 1, method: 'tools/list' });
    const answer = await hiding.answered(1);
    expect(namesIn(answer)).toEqual(['read', 'write']);
    expect(answer).toMatchObject({ result: { nextCursor: 'c' } });
    const showing = new Setting(contracts, listed);
    showing.say({ id: 1, method: 'tools/list' });
    expect(namesIn(await showing.answered(1))).toEqual(names);
    // Hidden is not allowed: a client that knows the name is refused all the same.
    hiding.call(2, 'delete_file');
    expect(await hiding.answered(2)).toMatchObject({ result: text('Denied: never') });
  });

  it('is announced to have changed with other contracts', async () => {
    const proxy = new Setting(rules(noEnv), listed, { hide: true });
    proxy.session.toolsChanged();
    expect(proxy.got).toEqual([]);
    await proxy.greet();
    proxy.guard.reload(rules(always));
    proxy.session.toolsChanged();
    await proxy.heard('notifications/tools/list_changed');
    proxy.say({ id: 1, method: 'tools/list' });
    expect(namesIn(await proxy.answered(1))).not.toContain('delete_file');
  });
});

describe('a cancelled call', () => {
  it('is cancelled at the server, and answered by nobody', async () => {
    const proxy = new Setting(rules(noEnv), () => undefined);
    proxy.call(1, 'read');
    await until(() => proxy.atServer.length === 1);
    proxy.say({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } });
    proxy.serve({ id: 1, result: text('late') });
    await until(() => !proxy.session.isBusy && proxy.guard.events.filter('call_failed').length === 1);
    expect(proxy.atServer[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } });
    expect(proxy.got).toEqual([]);
  });

  it('that still waited for a person never reaches the server', async () => {
    let aborted = false;
    const proxy = new Setting(rules(ask()), ok, {
      approvals: {
        request: async () => ({
          id: 'a',
          outcome: (signal) =>
            new Promise((_, reject) => {
              signal?.addEventListener('abort', () => {
                aborted = true;
                reject(signal.reason);
              });
            }),
        }),
      },
    });
    proxy.call(1, 'pay', { amount: 9 });
    await until(() => proxy.guard.events.filter('call_approval_requested').length === 1);
    proxy.say({ method: 'notifications/cancelled', params: { requestId: 1 } });
    await until(() => !proxy.session.isBusy);
    expect(aborted).toBe(true);
    expect([proxy.atServer, proxy.got]).toEqual([[], []]);
  });

  it('of another kind is cancelled at the server alone', async () => {
    const proxy = new Setting(rules(noEnv), () => undefined);
    proxy.say({ id: 1, method: 'resources/list' });
    proxy.say({ method: 'notifications/cancelled', params: { requestId: 1 } });
    proxy.say({ method: 'notifications/cancelled', params: { requestId: 'unknown' } });
    expect(proxy.atServer.map(({ method }) => method)).toEqual([
      'resources/list',
      'notifications/cancelled',
      'notifications/cancelled',
    ]);
    expect(proxy.session.isBusy).toBe(false);
  });
});

describe('an approval', () => {
  const deciding = () => {
    const requests: ApprovalRequest[] = [];
    let decide: (approved: boolean) => void = () => {};
    const approvals = {
      request: async (request: ApprovalRequest) => {
        requests.push(request);
        return {
          id: 'a1',
          outcome: () =>
            new Promise<{ status: 'approved' | 'denied'; proceed: boolean; decidedBy: string; reason: null }>(
              (resolve) => {
                decide = (proceed) =>
                  resolve({
                    status: proceed ? 'approved' : 'denied',
                    proceed,
                    decidedBy: 'ann',
                    reason: null,
                  });
              },
            ),
        };
      },
    };
    return { approvals, requests, decide: (approved: boolean) => decide(approved) };
  };

  it('is waited for, with progress for a client that asked for it', async () => {
    const { approvals, decide, requests } = deciding();
    const proxy = new Setting(rules(ask()), ok, { approvals });
    proxy.call(1, 'pay', { amount: 9 }, { _meta: { progressToken: 'p' } });
    const first = await proxy.heard('notifications/progress');
    expect(first.params).toEqual({
      progressToken: 'p',
      progress: expect.any(Number),
      message: 'Approval pending: pay 9?',
    });
    proxy.clock.advance(10_000);
    proxy.clock.advance(10_000);
    const told = proxy.got.filter(({ method }) => method === 'notifications/progress');
    const steps = told.map(({ params }) => (params as { progress: number }).progress);
    expect(steps).toHaveLength(3);
    expect([...steps].sort((a, b) => a - b)).toEqual(steps);
    expect(proxy.atServer).toEqual([]);
    decide(true);
    expect(await proxy.answered(1)).toMatchObject({ result: text('done') });
    proxy.clock.advance(60_000);
    expect(proxy.got.filter(({ method }) => method === 'notifications/progress')).toHaveLength(3);
    expect(requests[0]).toMatchObject({ tool: 'pay', args: { amount: 9 } });
  });

  it('that is refused is told to the model', async () => {
    const { approvals, decide } = deciding();
    const proxy = new Setting(rules(ask()), ok, { approvals });
    proxy.call(1, 'pay', { amount: 9 });
    await until(() => proxy.guard.events.filter('call_approval_requested').length === 1);
    expect(proxy.got).toEqual([]);
    decide(false);
    expect(await proxy.answered(1)).toMatchObject({ result: text('Denied: pay 9? (denied by ann)') });
    expect(proxy.atServer).toEqual([]);
  });

  const elicit = ask(', metadata: { elicit: true }');
  const form = { elicitation: { form: {} } };
  const answering = ({ method }: { method: string }) =>
    method === 'initialize' ? { result: introduction } : ok();

  it('is asked of the client’s user where contract and client allow it', async () => {
    const { approvals, requests } = deciding();
    const proxy = new Setting(rules(elicit), answering, { approvals });
    await proxy.greet(form);
    proxy.call(1, 'pay', { amount: 9 });
    const question = await proxy.heard('elicitation/create');
    expect(question.params).toMatchObject({
      message: 'pay 9?\n\npay {"amount":9}',
      requestedSchema: { properties: { approve: { type: 'boolean' } } },
    });
    proxy.say({ id: question.id, result: { action: 'accept', content: { approve: true } } });
    expect(await proxy.answered(1)).toMatchObject({ result: text('done') });
    expect(requests).toEqual([]);
    expect(proxy.guard.events.filter('call_approval_granted')).toHaveLength(1);
    expect(proxy.atServer.filter(({ id }) => id === question.id)).toEqual([]);
  });

  it.each([
    ['declined', { result: { action: 'decline' } }, 'denied by the user of tester'],
    [
      'not ticked',
      { result: { action: 'accept', content: { approve: false } } },
      'denied by the user of tester',
    ],
    ['without content', { result: { action: 'accept' } }, 'denied by the user of tester'],
    ['failed', { error: { code: -1, message: 'no window' } }, 'no window'],
  ])('of the client’s user that is %s refuses the call', async (_name, answer, why) => {
    const proxy = new Setting(rules(elicit), answering);
    await proxy.greet(form);
    proxy.call(1, 'pay', { amount: 9 });
    const question = await proxy.heard('elicitation/create');
    proxy.say({ id: question.id, ...answer });
    expect(JSON.stringify(await proxy.answered(1))).toContain(why);
    expect(proxy.atServer).toHaveLength(1);
  });

  it('that nobody gives in time is taken back from the client', async () => {
    const proxy = new Setting(rules(elicit), answering);
    await proxy.greet({ elicitation: {} });
    proxy.call(1, 'pay', { amount: 9 });
    const question = await proxy.heard('elicitation/create');
    await proxy.clock.asked(60_000);
    proxy.clock.advance(60_000);
    expect(await proxy.answered(1)).toMatchObject({
      result: text('Denied: pay 9? (nobody decided in time)'),
    });
    expect(await proxy.heard('notifications/cancelled')).toMatchObject({
      params: { requestId: question.id },
    });
  });

  it.each([
    ['the contract does not say so', ask(), form],
    ['the client cannot ask', elicit, {}],
    ['the client opens addresses only', elicit, { elicitation: { url: {} } }],
  ])('is the hub’s where %s', async (_name, rule, capabilities) => {
    const { approvals, requests, decide } = deciding();
    const proxy = new Setting(rules(rule), answering, { approvals });
    await proxy.greet(capabilities);
    proxy.call(1, 'pay', { amount: 9 });
    await until(
      () => requests.length === 1 && proxy.guard.events.filter('call_approval_requested').length === 1,
    );
    decide(true);
    expect(await proxy.answered(1)).toMatchObject({ result: text('done') });
    expect(proxy.got.filter(({ method }) => method === 'elicitation/create')).toEqual([]);
  });

  it('is refused where nobody can be asked', async () => {
    const proxy = new Setting(rules(ask()), ok);
    proxy.call(1, 'pay', { amount: 9 });
    expect(JSON.stringify(await proxy.answered(1))).toContain(
      'no hub is configured, and the client does not support elicitation',
    );
  });
});

describe('a server that ends', () => {
  const answering = ({ method }: { method: string }) =>
    method === 'initialize' ? { result: introduction } : undefined;

  it('is started again and introduced again; what was under way fails, what comes meanwhile waits', async () => {
    const proxy = new Setting(rules(noEnv), answering);
    await proxy.greet({ roots: {} });
    proxy.say({ method: 'notifications/initialized' });
    proxy.call(1, 'read', { path: 'a' });
    proxy.say({ id: 2, method: 'resources/list' });
    await until(() => proxy.atServer.length === 4);
    proxy.end('ended (SIGKILL)');
    expect(await proxy.answered(1)).toMatchObject({
      error: { code: -32000, message: expect.stringContaining('ended (SIGKILL) before it answered') },
    });
    expect(await proxy.answered(2)).toMatchObject({ error: { code: -32000 } });
    proxy.call(3, 'read', { path: 'b' });
    proxy.answer = ({ method }) => (method === 'initialize' ? { result: introduction } : ok());
    await proxy.clock.asked(100);
    proxy.clock.advance(100);
    expect(await proxy.answered(3)).toMatchObject({ result: text('done') });
    expect(proxy.starts).toBe(2);
    expect(proxy.atServer.slice(4)).toMatchObject([
      { method: 'initialize', params: { capabilities: { roots: {} }, clientInfo: { name: 'tester' } } },
      { method: 'notifications/initialized' },
      { method: 'tools/call', params: { arguments: { path: 'b' } } },
    ]);
    await proxy.heard('notifications/tools/list_changed');
    // The client hears nothing of the second introduction.
    expect(
      proxy.got.filter(({ result }) => (result as { serverInfo?: unknown } | undefined)?.serverInfo),
    ).toHaveLength(1);
    expect(proxy.guard.events.filter('call_failed')).toHaveLength(1);
  });

  it('and is started again does not get a call that was cancelled in between', async () => {
    const proxy = new Setting(rules(noEnv), answering);
    await proxy.greet();
    proxy.say({ method: 'notifications/initialized' });
    await until(() => proxy.listings === 1);
    // The list is complete: no call waits for it.
    await new Promise((resolve) => setImmediate(resolve));
    proxy.end('ended (SIGKILL)');
    const isHeld = (count: number): boolean =>
      proxy.guard.events.filter('call_allowed').length === count &&
      proxy.clock.waits.filter((ms) => ms === 15_000).length === count + 1;
    for (const [index, path] of ['a', 'b', 'c'].entries()) {
      proxy.call(index + 1, 'read', { path });
      await until(() => isHeld(index + 1), `the call of ${path}`);
    }
    proxy.say({ method: 'notifications/cancelled', params: { requestId: 2 } });
    proxy.say({ method: 'notifications/cancelled', params: { requestId: 'unknown' } });
    await until(() => proxy.guard.events.filter('call_failed').length === 1);
    proxy.answer = ({ method }) => (method === 'initialize' ? { result: introduction } : ok());
    proxy.clock.advance(100);
    for (const id of [1, 3]) expect(await proxy.answered(id)).toMatchObject({ result: text('done') });
    const calls = proxy.atServer.filter(({ method }) => method === 'tools/call');
    expect(calls.map(({ id }) => id)).toEqual([1, 3]);
    expect(proxy.atServer.some(({ method }) => method === 'notifications/cancelled')).toBe(false);
    expect(proxy.got.some(({ id }) => id === 2)).toBe(false);
  });

  it('and refuses the introduction after its restart is started again, until it accepts', async () => {
    const proxy = new Setting(rules(noEnv), answering);
    await proxy.greet();
    proxy.answer = () => ({ error: { code: -32_000, message: 'the database is not up yet' } });
    proxy.end('ended (exit code 1)');
    proxy.call(1, 'read', { path: 'a' });
    for (const wait of [100, 200]) {
      await proxy.clock.asked(wait);
      if (wait === 200)
        proxy.answer = ({ method }) => (method === 'initialize' ? { result: introduction } : ok());
      proxy.clock.advance(wait);
    }
    expect(await proxy.answered(1)).toMatchObject({ result: text('done') });
    expect(proxy.told.at(-1)).toContain('refuses the session after its restart (the database is not up yet)');
    expect(proxy.starts).toBe(3);
  });

  it('again and again is started later and later; who waits too long is told', async () => {
    const proxy = new Setting(rules(noEnv), answering);
    await proxy.greet();
    for (const wait of [100, 200, 400]) {
      proxy.end('ended (exit code 1)');
      await proxy.clock.asked(wait);
      if (wait === 400) proxy.call(1, 'read');
      else proxy.clock.advance(wait);
      proxy.answer = () => undefined;
    }
    await proxy.clock.asked(15_000);
    proxy.clock.advance(15_000);
    expect(await proxy.answered(1)).toMatchObject({
      error: { message: 'the MCP server is not running; try again later' },
    });
    expect(proxy.starts).toBe(4);
  });

  it('before it answered at all is not started again', () => {
    const proxy = new Setting(rules(noEnv), () => undefined);
    proxy.say({ id: 1, method: 'initialize', params: {} });
    proxy.end('cannot be started (ENOENT)');
    expect(proxy.told).toEqual(['failed: cannot be started (ENOENT)']);
    expect(proxy.starts).toBe(1);
  });
});
