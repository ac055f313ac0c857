// Messages that two parsers would read differently: what is judged is what is sent, or nothing is.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MessageError,
  type Request,
  readClientMessages,
  readMessages,
  readServerMessages,
  textOf,
  toolCallOf,
} from '../../src/cli/mcp/message.ts';

const sent = (text: string): unknown[] => readMessages(text).map((message) => JSON.parse(textOf(message)));
const callOf = (params: object, isModern = false) => {
  const [message] = readMessages(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
  return toolCallOf(message as Request, {}, isModern);
};

describe('messages', () => {
  it('leave with the members that were read, and no others', () => {
    expect(sent('{"jsonrpc":"2.0","id":1,"Method":"x","Params":{"name":"rm"},"method":"ping"}')).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'ping' },
    ]);
    expect(sent('{"method":"a","params":{"x":[1,{"y":null}]},"id":"s","extra":1}')).toEqual([
      { jsonrpc: '2.0', id: 's', method: 'a', params: { x: [1, { y: null }] } },
    ]);
  });

  it('come alone or as a batch', () => {
    const kinds = readMessages(
      '[{"id":1,"method":"a"},{"method":"b"},{"id":2,"result":{}},{"id":3,"error":{"code":1,"message":"no"}}]',
    );
    expect(kinds.map(({ kind }) => kind)).toEqual(['request', 'notification', 'response', 'response']);
  });

  it('hand on an answer as the text it came as', () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{"row":12345678901234567890}}';
    expect(readMessages(text).map(textOf)).toEqual([text]);
  });

  it.each([
    ['a doubled member', '{"id":1,"method":"tools/call","method":"ping"}', -32600],
    ['doubled arguments', '{"id":1,"method":"x","params":{"a":1,"\\u0061":2}}', -32600],
    ['an infinite number', '{"id":1,"method":"x","params":{"a":1e400}}', -32602],
    ['a number that would change', '{"id":1,"method":"x","params":{"a":9007199254740993}}', -32602],
    ['half a character', '{"id":1,"method":"x","params":{"a":"\\ud800"}}', -32600],
    ['a method in other case', '{"id":1,"method":"Tool\u017f/call"}', -32600],
  ])('with %s are refused, and say to whom', (_name, text, code) => {
    expect(() => readMessages(text)).toThrow(expect.objectContaining({ code, id: 1 }));
  });

  it.each([
    ['a member that is no message', '[{"id":1,"method":"a"},{"id":2,"method":7},3]', [1, 2, null], [-32600]],
    [
      'a member that can be read in two ways',
      '[{"id":1,"method":"a"},{"id":2,"method":"b","method":"c"}]',
      [1, 2],
      [-32600],
    ],
    ['no member', '[]', [null], [-32600]],
    ['an end in its middle', '[{"id":1,"method":"a"}', [null], [-32700]],
  ])('of a client in a batch with %s are each answered', (_name, text, ids, codes) => {
    const read = readClientMessages(text);
    expect(read.map((one) => ('id' in one ? one.id : undefined))).toEqual(ids);
    const errors = read.filter((one) => one instanceof MessageError);
    expect([...new Set(errors.map(({ code }) => code))]).toEqual(codes);
  });

  it('of a client in a batch run beside a member that is none', () => {
    const [first, second] = readClientMessages('[{"id":1,"method":"a"},{"id":2,"method":7}]');
    expect(first).toMatchObject({ kind: 'request', id: 1, method: 'a' });
    expect(second).toBeInstanceOf(MessageError);
  });

  it('of a server that can be read in two ways are answered by an error in their place', () => {
    const doubled = '{"jsonrpc":"2.0","id":7,"result":{"content":[]},"result":{"content":["x"]}}';
    for (const text of [doubled, `[${doubled}]`, '{"jsonrpc":"2.0","id":7,"Result":{"content":["x"]}}']) {
      const answers = readServerMessages(text);
      expect(answers).toMatchObject([{ kind: 'response', id: 7, error: { code: -32000 } }]);
      expect(answers[0] && textOf(answers[0])).not.toContain('"x"');
    }
    expect(() => readServerMessages('{"method":"a","method":"b"}')).toThrow(MessageError);
  });

  it.each([
    ['members beside it', '{"jsonrpc":"2.0","id":1,"result":{"row":12345678901234567890},"note":"x"}'],
    [
      'an error that is none beside it',
      '{"jsonrpc":"2.0","id":1,"result":{"row":12345678901234567890},"error":"x"}',
    ],
    ['another version', '{"jsonrpc":"x","id":1,"result":{"row":12345678901234567890}}'],
  ])('hand on an answer with %s without that', (_name, text) => {
    expect(readMessages(text).map(textOf)).toEqual([
      '{"jsonrpc":"2.0","id":1,"result":{"row":12345678901234567890}}',
    ]);
  });

  it('hand on an error with what an error has, and no result beside it', () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no","data":2,"more":"x"},"result":{"y":1}}';
    expect(readMessages(text).map(textOf)).toEqual([
      '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no","data":2}}',
    ]);
  });

  it.each([
    ['', -32700],
    ['{', -32700],
    ['[]', -32600],
    ['3', -32600],
    ['[3]', -32600],
    ['{}', -32600],
    ['{"id":null,"method":"tools/call"}', -32600],
    ['{"id":{},"method":"x"}', -32600],
    ['{"id":1,"method":7}', -32600],
    ['{"id":1,"method":"x","params":[1]}', -32602],
    ['{"result":1}', -32600],
  ])('%s is refused with %i', (text, code) => {
    let thrown: unknown;
    try {
      readMessages(text);
    } catch (failure) {
      thrown = failure;
    }
    expect(thrown).toBeInstanceOf(MessageError);
    expect((thrown as MessageError).code).toBe(code);
  });

  it('never throw anything else, whatever comes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        try {
          for (const message of readMessages(text)) JSON.parse(textOf(message));
        } catch (failure) {
          if (!(failure instanceof MessageError)) throw failure;
        }
      }),
    );
  });
});

describe('calls', () => {
  it('go on with the name and the arguments that are judged', () => {
    expect(callOf({ name: 'read', arguments: { path: 'a' }, _meta: { progressToken: 7 } })).toMatchObject({
      name: 'read',
      args: { path: 'a' },
      progressToken: 7,
      request: { params: { name: 'read', arguments: { path: 'a' }, _meta: { progressToken: 7 } } },
    });
    expect(callOf({ name: 'read', extra: 1, _meta: { progressToken: 'p', more: 2 } }).request.params).toEqual(
      { name: 'read', arguments: {}, _meta: { progressToken: 'p' } },
    );
    expect(callOf({ name: 'read' }).request.params).toEqual({ name: 'read', arguments: {} });
    // Revision 2026-07-28 has no such member.
    const { params } = callOf({ name: 'read', task: { ttl: 1 } }, true).request;
    expect(params).toEqual({ name: 'read', arguments: {} });
  });

  it.each([
    [{}, 'a call must name its tool'],
    [{ name: 7 }, 'a call must name its tool'],
    [{ name: 'a', arguments: [1] }, 'must be an object'],
    [{ name: 'a', arguments: null }, 'must be an object'],
    [{ name: 'a', Name: 'b' }, 'cannot have a member Name'],
    [{ name: 'a', Arguments: { path: '/' } }, 'cannot have a member Arguments'],
    [{ name: 'a', argument\u017f: { path: '/' } }, 'cannot have a member argument\u017f'],
    [{ name: 'a', ta\u017f\u212a: {} }, 'cannot have a member ta'],
    [{ name: 'a', task: { ttl: 1 } }, 'as tasks'],
    [{ name: 'a', arguments: { deep: [{ n: 2 ** 53 }] } }, 'too large for exact comparison'],
  ])('are refused: %j', (params, why) => {
    expect(() => callOf(params)).toThrow(why);
  });
});
