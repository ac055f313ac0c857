// Messages that two parsers would read differently: what is judged is what is sent, or nothing is.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageError, type Request, readMessages, textOf, toolCallOf } from '../../src/cli/mcp/message.ts';

const sent = (text: string): unknown[] => readMessages(text).map((message) => JSON.parse(textOf(message)));
const callOf = (params: object) => {
  const [message] = readMessages(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
  return toolCallOf(message as Request);
};

describe('messages', () => {
  it('leave with the members that were read, and no others', () => {
    expect(
      sent(
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"x","Params":{"name":"rm"},"method":"ping"}',
      ),
    ).toEqual([{ jsonrpc: '2.0', id: 1, method: 'ping' }]);
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
    expect(callOf({ name: 'read' }).request.params).toEqual({ name: 'read', arguments: {} });
  });

  it.each([
    [{}, 'the name of its tool'],
    [{ name: 7 }, 'the name of its tool'],
    [{ name: 'a', arguments: [1] }, 'must be an object'],
    [{ name: 'a', arguments: null }, 'must be an object'],
    [{ name: 'a', Name: 'b' }, 'no member Name'],
    [{ name: 'a', Arguments: { path: '/' } }, 'no member Arguments'],
    [{ name: 'a', task: { ttl: 1 } }, 'as tasks'],
    [{ name: 'a', arguments: { deep: [{ n: 2 ** 53 }] } }, 'too large to be judged exactly'],
  ])('are refused: %j', (params, why) => {
    expect(() => callOf(params)).toThrow(why);
  });
});
