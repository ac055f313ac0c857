// Calls and results that another reader understands otherwise than they are judged: none reaches the server or the
// client unjudged.
import { describe, expect, it } from 'vitest';
import type { ApprovalRequest } from '../../src/index.ts';
import { until } from '../manual-clock.ts';
import { rules, Setting } from './setting.ts';

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
const ok = () => ({ result: text('done') });
const noEtc =
  '{ id: no-etc, type: pre, tool: "*", when: { args.path: { starts_with: "/etc" } }, then: { effect: deny, message: "not there" } }';
const nested =
  '{ id: deep, type: pre, tool: "*", when: { args.options.target: { starts_with: "/etc" } }, then: { effect: deny, message: "not there" } }';
const read = {
  name: 'read',
  inputSchema: {
    type: 'object',
    properties: {
      file: { type: 'string' },
      env: { type: 'object', additionalProperties: { type: 'string' } },
      edits: { type: 'array', items: { $ref: '#/$defs/edit' } },
      either: { anyOf: [{ type: 'string' }, { type: 'object', properties: { where: {} } }] },
      tree: { $ref: '#/$defs/tree' },
      link: { $ref: '#/%24defs/a%20link' },
      odd: { $ref: '#/%' },
    },
    dependentSchemas: { file: { properties: { range: {} } } },
    $defs: {
      'a link': { type: 'object', properties: { href: {} } },
      edit: { type: 'object', properties: { target: { type: 'string' } } },
      tree: {
        type: 'object',
        properties: { leaf: {}, children: { type: 'array', items: { $ref: '#/$defs/tree' } } },
      },
    },
  },
};

describe('names of arguments', () => {
  const setting = (...contracts: string[]) => {
    const proxy = new Setting(rules(...contracts), ok);
    proxy.tools = [read];
    return proxy;
  };

  it.each([
    ['for a step of a selector', { Path: '/etc/passwd' }, 'path'],
    ['beside it', { path: 'a', PATH: '/etc/passwd' }, 'path'],
    ['by a letter of another block', { op\u0074ions: { target: 'a' }, optionſ: {} }, 'options'],
    ['for a later step', { options: { Target: '/etc/passwd' } }, 'target'],
    ['for a property of the schema', { File: '/etc/passwd' }, 'file'],
    ['for a property of items', { edits: [{ target: 'a' }, { Target: '/etc/passwd' }] }, 'target'],
    ['for a property of one form of many', { either: { WHERE: '/' } }, 'where'],
    ['for a property that another one brings', { file: 'a', Range: 1 }, 'range'],
    ['behind an escaped reference', { link: { HREF: '/' } }, 'href'],
    ['deep in a schema that refers to itself', { tree: { children: [{ children: [{ Leaf: 1 }] }] } }, 'leaf'],
  ])('in other case %s refuse the call', async (_name, args, meant) => {
    const proxy = setting(noEtc, nested);
    proxy.call(1, 'read', args);
    expect(await proxy.answered(1)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining(JSON.stringify(meant)) },
    });
    expect(proxy.atServer).toEqual([]);
  });

  it.each([
    ['of variables', { env: { http_proxy: 'a', HTTP_PROXY: 'b', Path: '/bin' } }],
    ['in any script', { путь: 'a', 名前: 'b', größe: 1 }],
    ['behind a broken reference', { odd: { HREF: '/' } }],
    ['that are properties', { file: 'a', either: { where: 1 }, tree: { leaf: 1, children: [] } }],
    ['in a text form', { either: 'WHERE' }],
  ])('%s stay free', async (_name, args) => {
    const proxy = setting(noEtc);
    proxy.call(1, 'read', args);
    expect(await proxy.answered(1)).toMatchObject({ result: text('done') });
    expect(proxy.atServer[0]).toMatchObject({ params: { arguments: args } });
  });

  it('of declarations count as those of selectors', async () => {
    const proxy = new Setting(
      rules('{ id: in, type: sandbox, tool: find, within: [/srv], message: outside }'),
      ok,
      {
        toolArguments: { 'fi*': { query: 'path' } },
      },
    );
    proxy.call(1, 'find', { Query: '/etc' });
    expect(await proxy.answered(1)).toMatchObject({ error: { code: -32602 } });
    proxy.call(2, 'find', { query: '/etc' });
    expect(await proxy.answered(2)).toMatchObject({ result: text('Denied: outside') });
  });

  it('are those of the newest list; a name of a tool in other case is refused', async () => {
    const proxy = setting(noEtc);
    proxy.call(1, 'Read', { file: 'a' });
    expect(await proxy.answered(1)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('"read"') },
    });
    proxy.tools = [read, { name: 'look', inputSchema: { properties: { at: {} } } }];
    proxy.serve({ method: 'notifications/tools/list_changed' });
    proxy.call(2, 'look', { AT: '/' });
    expect(await proxy.answered(2)).toMatchObject({ error: { code: -32602 } });
    expect(proxy.listings).toBe(2);
  });

  it('are compared with contracts alone where the server lists no tools', async () => {
    const proxy = setting(noEtc);
    proxy.tools = undefined;
    proxy.call(1, 'read', { File: 'a' });
    expect(await proxy.answered(1)).toMatchObject({ result: text('done') });
    proxy.call(2, 'read', { Path: 'a' });
    expect(await proxy.answered(2)).toMatchObject({ error: { code: -32602 } });
    expect(proxy.told.join()).toContain('cannot list the MCP server');
  });

  it.each([
    ['one schema in very many forms', { anyOf: Array(500_000).fill(1) }],
    ['very many schemas beside one argument', { dependentSchemas: { ...Array(500_000).fill(1) } }],
  ])('are read from a list with %s', async (_name, part) => {
    const proxy = setting(noEtc);
    proxy.tools = [read, { name: 'wide', inputSchema: { ...read.inputSchema, ...part } }];
    proxy.call(1, 'wide', { File: 'a' });
    expect(await proxy.answered(1)).toMatchObject({ error: { code: -32602 } });
    proxy.call(2, 'wide', { file: 'a' });
    expect(await proxy.answered(2)).toMatchObject({ result: text('done') });
  });

  it('are compared with contracts alone where the server lists too many tools on one page', async () => {
    const proxy = setting(noEtc);
    // Of one name, which took hours while each tool copied those before it.
    proxy.tools = Array(500_000).fill(read);
    proxy.call(1, 'read', { File: 'a' });
    expect(await proxy.answered(1)).toMatchObject({ result: text('done') });
    expect(proxy.told.join()).toContain('there are more than 10000 tools');
  });

  it('are compared with contracts alone where the tools cannot be read', async () => {
    const proxy = setting(noEtc);
    const schema = { properties: {} };
    Object.defineProperty(schema, 'allOf', {
      get: () => {
        throw new RangeError('too deep');
      },
    });
    proxy.tools = [{ name: 'read', inputSchema: schema }];
    proxy.call(1, 'read', { File: 'a' });
    expect(await proxy.answered(1)).toMatchObject({ result: text('done') });
    expect(proxy.told.join()).toContain('its tools cannot be read: too deep');
  });

  it('wait for a list that takes long, and are refused without one', async () => {
    const proxy = new Setting(rules(noEtc), () => undefined, { silentTools: true });
    proxy.call(1, 'read', { path: 'a' });
    await proxy.clock.asked(15_000);
    proxy.clock.advance(15_000);
    expect(await proxy.answered(1)).toMatchObject({ error: { code: -32000 } });
    // The request for the list.
    expect(proxy.atServer.map(({ method }) => method)).toEqual(['notifications/cancelled']);
  });
});

describe('batches', () => {
  it('are judged call by call, and go on one by one', async () => {
    const proxy = new Setting(rules(noEtc), ok);
    const call = (id: number, path: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"read","arguments":{"path":"${path}"}}}`;
    proxy.sayText(`[${call(1, 'a')},${call(2, '/etc/passwd')},[${call(3, '/etc/passwd')}]]`);
    proxy.sayText(`[${call(4, 'a')},${call(5, '/etc/passwd')}]`);
    expect(await proxy.answered(5)).toMatchObject({ result: text('Denied: not there') });
    expect(await proxy.answered(4)).toMatchObject({ result: text('done') });
    expect(proxy.atServer).toHaveLength(1);
  });
});

describe('results', () => {
  const secret = 'call 555-1234';
  const hide =
    '{ id: numbers, type: post, tool: "*", when: { output.text: { matches: "[0-9]{3}-[0-9]{4}" } }, then: { effect: redact, message: hidden } }';
  const suppress =
    '{ id: none, type: post, tool: "*", when: { output.text: { matches: "[0-9]{3}-[0-9]{4}" } }, then: { effect: deny, message: hidden } }';
  const base64 = (value: string | Uint8Array) => Buffer.from(value).toString('base64');
  const asResult = (result: object) => `{"jsonrpc":"2.0","id":1,"result":${JSON.stringify(result)}}`;
  const places: [string, string][] = [
    ['a text', asResult(text(secret))],
    ['a resource', asResult({ content: [{ type: 'resource', resource: { uri: 'a', text: secret } }] })],
    [
      'the address of a resource',
      asResult({ content: [{ type: 'resource', resource: { uri: secret, text: '' } }] }),
    ],
    ['a blob', asResult({ content: [{ type: 'resource', resource: { uri: 'a', blob: base64(secret) } }] })],
    [
      'a blob in the alphabet of URLs',
      asResult({
        content: [
          {
            type: 'resource',
            resource: { uri: 'a', blob: Buffer.from(`??>${secret}>>`).toString('base64url') },
          },
        ],
      }),
    ],
    [
      'an image',
      asResult({
        content: [{ type: 'image', mimeType: 'image/svg+xml', data: base64(`<svg>${secret}</svg>`) }],
      }),
    ],
    [
      'an image that is none',
      asResult({ content: [{ type: 'image', mimeType: 'image/png', data: secret }] }),
    ],
    ['a link', asResult({ content: [{ type: 'resource_link', uri: 'a', name: 'b', description: secret }] })],
    ['notes of a part', asResult({ content: [{ type: 'text', text: 'a', annotations: { x: secret } }] })],
    ['notes of the result', asResult({ ...text('a'), _meta: { x: secret } })],
    ['the old form', asResult({ toolResult: { x: secret } })],
    ['the structure', asResult({ ...text('a'), structuredContent: { x: secret } })],
    ['an unknown part', asResult({ content: [{ type: 'video', src: secret }] })],
    ['a part that is a text', asResult({ content: [secret] })],
    ['content that is a text', asResult({ content: secret })],
    ['a name', asResult({ ...text('a'), structuredContent: { [secret]: 1 } })],
    ['a result that is a text', `{"jsonrpc":"2.0","id":1,"result":"${secret}"}`],
    ['a member beside the result', `{"jsonrpc":"2.0","id":1,"note":"${secret}","result":{"content":[]}}`],
    ['an error beside the result', `{"jsonrpc":"2.0","id":1,"error":"${secret}","result":{"content":[]}}`],
    [
      'a result beside an error',
      `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"},"result":{"x":"${secret}"}}`,
    ],
    ['a member of an error', `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no","more":"${secret}"}}`],
    [
      'the data of an error',
      `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no","data":["${secret}"]}}`,
    ],
    [
      'a doubled result',
      `{"jsonrpc":"2.0","id":1,"result":{"content":["${secret}"]},"result":{"content":[]}}`,
    ],
    ['a doubled member inside', `{"jsonrpc":"2.0","id":1,"result":{"content":[],"x":"${secret}","x":1}}`],
    ['the version', `{"jsonrpc":"${secret}","id":1,"result":{"content":[]}}`],
  ];

  it.each(places)('keep nothing unjudged in %s', async (_name, answer) => {
    for (const rule of [hide, suppress]) {
      const proxy = new Setting(rules(rule), () => undefined);
      proxy.call(1, 'read');
      await until(() => proxy.atServer.length === 1);
      proxy.write(answer);
      expect(JSON.stringify(await proxy.answered(1))).not.toMatch(/555-1234|NTU1LTEyMzQ/);
    }
  });

  it('that are suppressed keep their notice alone', async () => {
    const proxy = new Setting(rules(suppress), () => ({
      result: { ...text(secret), _meta: { a: 1 }, toolResult: 1, structuredContent: { b: 1 }, more: 'x' },
    }));
    proxy.call(1, 'write');
    const { result } = await proxy.answered(1);
    expect(Object.keys(result as object).sort()).toEqual(['content', 'isError']);
    expect((result as { content: object[] }).content).toEqual([{ type: 'text', text: expect.any(String) }]);
  });

  it('without what contracts look for reach the client as they are', async () => {
    const proxy = new Setting(rules(hide), () => undefined);
    proxy.call(1, 'read');
    await until(() => proxy.atServer.length === 1);
    const result = {
      content: [
        {
          type: 'image',
          mimeType: 'image/png',
          data: base64(Uint8Array.from({ length: 600 }, (_, i) => i * 7)),
        },
        { type: 'text', text: 'a', annotations: { priority: 1 } },
      ],
      _meta: { a: 1 },
    };
    proxy.write(asResult(result));
    expect(await proxy.answered(1)).toEqual({ jsonrpc: '2.0', id: 1, result });
  });

  it('of calls that the server was not sent yet are heard by nobody', async () => {
    const requests: ApprovalRequest[] = [];
    const ask =
      '{ id: ask, type: pre, tool: pay, when: { args.amount: { gt: 5 } }, then: { effect: approve, message: "pay?", timeout: 60 } }';
    let decide: () => void = () => {};
    const proxy = new Setting(rules(ask), ok, {
      approvals: {
        request: async (request) => {
          requests.push(request);
          return {
            id: 'a',
            outcome: () =>
              new Promise((resolve) => {
                decide = () => resolve({ status: 'denied', proceed: false, decidedBy: 'ann', reason: null });
              }),
          };
        },
      },
    });
    proxy.call(1, 'pay', { amount: 9 });
    await until(() => proxy.guard.events.filter('call_approval_requested').length === 1);
    proxy.write(asResult(text('unjudged')));
    decide();
    expect(JSON.stringify(await proxy.answered(1))).toContain('denied by ann');
    expect(JSON.stringify(proxy.got)).not.toContain('unjudged');
  });

  it('of tasks that a server makes by itself are not asked for', async () => {
    const proxy = new Setting(rules(hide), () => ({ result: text(secret) }));
    for (const [id, method] of ['tasks/result', 'tasks/get', 'Tasks/Result'].entries()) {
      proxy.say({ id, method, params: { taskId: 't' } });
      expect(await proxy.answered(id)).toMatchObject({ error: { code: -32600 } });
    }
    expect(proxy.atServer).toEqual([]);
  });

  it('that come twice are heard once', async () => {
    const proxy = new Setting(rules(hide), () => undefined);
    proxy.call(1, 'read');
    await until(() => proxy.atServer.length === 1);
    proxy.write(asResult(text('first')));
    proxy.write(asResult(text(secret)));
    await proxy.answered(1);
    proxy.write(asResult(text(secret)));
    expect(proxy.got).toHaveLength(1);
    expect(JSON.stringify(proxy.got)).not.toContain('555-1234');
  });
});
