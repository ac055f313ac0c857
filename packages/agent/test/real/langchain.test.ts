// Guarded tools of the real LangChain.js: every way that its API runs a tool.
import { ToolMessage } from '@langchain/core/messages';
import { DynamicStructuredTool, DynamicTool, StructuredTool, tool } from '@langchain/core/tools';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DeniedError, Guard, guardLangChainTools } from '../../src/index.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
tools: { find: { side_effect: read } }
contracts:
  - id: no-secrets
    type: pre
    tool: "*"
    when: { any: [{ args.path: { contains: ".env" } }, { args.input: { contains: ".env" } }] }
    then: { effect: deny, message: "secrets" }
  - id: numbers
    type: post
    tool: find
    when: { output.text: { matches: '\\d{3}-\\d{4}' } }
    then: { effect: redact, message: "numbers are hidden" }
`;
const guardOf = () => Guard.fromYaml(yaml, { openTelemetry: null });
const schema = z.object({ path: z.string().default('.env') });
let ran: string[] = [];
const run = async ({ path }: { path: string }): Promise<string> => {
  ran.push(path);
  return `contents of ${path}`;
};

class OwnTool extends StructuredTool<typeof schema> {
  readonly name = 'own';
  readonly description = 'reads';
  readonly schema = schema;
  protected async _call(input: { path: string }): Promise<string> {
    return run(input);
  }
}

const kinds = {
  'tool()': () => tool(run, { name: 'read', description: 'reads', schema }),
  DynamicStructuredTool: () =>
    new DynamicStructuredTool({ name: 'read', description: 'reads', schema, func: run }),
  'a class of its own': () => new OwnTool(),
  DynamicTool: () =>
    new DynamicTool({ name: 'read', description: 'reads', func: (input) => run({ path: input }) }),
};
type Kind = ReturnType<(typeof kinds)[keyof typeof kinds]>;

/** Every way to run a tool that the SDK offers. */
const ways: { readonly [name: string]: (one: Kind, path: string) => Promise<unknown> } = {
  invoke: (one, path) => (one as OwnTool).invoke(inputOf(one, path)),
  call: (one, path) => (one as OwnTool).call(inputOf(one, path)),
  batch: async (one, path) => (await (one as OwnTool).batch([inputOf(one, path)]))[0],
  async stream(one, path) {
    let last: unknown;
    for await (const part of await (one as OwnTool).stream(inputOf(one, path))) last = part;
    return last;
  },
  async 'invoke with a tool call'(one, path) {
    const args = one instanceof DynamicTool ? { input: path } : { path };
    const message = await (one as OwnTool).invoke({ type: 'tool_call', id: 'c1', name: one.name, args });
    return (message as unknown as { content: string }).content;
  },
};
const inputOf = (one: Kind, path: string): { path: string } =>
  (one instanceof DynamicTool ? path : { path }) as { path: string };

describe('tools of LangChain', () => {
  for (const [kind, make] of Object.entries(kinds)) {
    it.each(Object.entries(ways))(`${kind}: %s is governed`, async (_name, way) => {
      ran = [];
      const guard = guardOf();
      const [one] = guardLangChainTools(guard, [make()] as const);
      expect(await way(one, 'notes.txt')).toBe('contents of notes.txt');
      expect(await way(one, '.env')).toBe('Denied: secrets');
      expect(ran).toEqual(['notes.txt']);
      expect(guard.events.filter('call_executed')).toHaveLength(1);
    });
  }

  it('are judged by the arguments that their schema has read', async () => {
    ran = [];
    const [read] = guardLangChainTools(guardOf(), [kinds['tool()']()] as const);
    expect(await read.invoke({})).toBe('Denied: secrets');
    expect(ran).toEqual([]);
  });

  it('stay governed when their function is called or replaced', async () => {
    ran = [];
    const [read] = guardLangChainTools(guardOf(), [kinds.DynamicStructuredTool()] as const);
    expect(await read.func({ path: '.env' })).toBe('Denied: secrets');
    read.func = run;
    expect(await read.invoke({ path: '.env' })).toBe('Denied: secrets');
    expect(ran).toEqual([]);
  });

  it('keep content and artifact apart, and hand on redacted results', async () => {
    const found = { name: 'ann', phone: '555-1234' };
    const find = tool(async () => ['found', found], {
      name: 'find',
      description: 'finds',
      schema,
      responseFormat: 'content_and_artifact',
    });
    guardLangChainTools(guardOf(), [find]);
    const callOf = (path: string) => ({ type: 'tool_call' as const, id: 'c1', name: 'find', args: { path } });
    expect(await find.invoke(callOf('a'))).toMatchObject({
      content: 'found',
      artifact: { name: 'ann', phone: '[REDACTED]' },
    });
    expect(await find.invoke(callOf('.env'))).toMatchObject({ content: 'Denied: secrets', artifact: null });
  });

  it.each(Object.entries(kinds))(
    '%s: a denied call is a message with the status error',
    async (_kind, make) => {
      const [one] = guardLangChainTools(guardOf(), [make()] as const);
      const answer = (path: string) =>
        (one as OwnTool).invoke({
          type: 'tool_call',
          id: 'c1',
          name: one.name,
          args: (one instanceof DynamicTool ? { input: path } : { path }) as { path: string },
        }) as Promise<unknown>;
      expect(await answer('notes.txt')).toMatchObject({
        status: 'success',
        content: 'contents of notes.txt',
      });
      const denied = await answer('.env');
      expect(ToolMessage.isInstance(denied)).toBe(true);
      expect(denied).toMatchObject({
        status: 'error',
        content: 'Denied: secrets',
        name: one.name,
        tool_call_id: 'c1',
      });
    },
  );

  it('throw a denial when they are told to, and belong to one guard', async () => {
    const guard = guardOf();
    const tools = [kinds['tool()']()] as const;
    guardLangChainTools(guard, tools, { onDeny: 'throw' });
    await expect(tools[0].invoke({ path: '.env' })).rejects.toThrow(DeniedError);
    expect(guardLangChainTools(guard, tools)).toBe(tools);
    expect(() => guardLangChainTools(guardOf(), tools)).toThrow('already has another guard');
    expect(() => guardLangChainTools(guard, [{ name: 'x', invoke: () => {} }])).toThrow(
      'not a LangChain tool',
    );
  });
});
