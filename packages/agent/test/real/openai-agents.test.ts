// Guarded tools inside the real OpenAI Agents SDK: its own runner calls them. The model is a script; no request leaves
// the process.
import {
  Agent,
  computerTool,
  type Model,
  type ModelRequest,
  type ModelResponse,
  Runner,
  shellTool,
  tool,
  Usage,
  webSearchTool,
} from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Guard, guardOpenAiAgent, guardOpenAiTools } from '../../src/index.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
tools: { find: { side_effect: read } }
contracts:
  - id: no-secrets
    type: pre
    tool: "*"
    when: { args.path: { contains: ".env" } }
    then: { effect: deny, message: "{args.path} holds secrets" }
  - id: numbers
    type: post
    tool: find
    when: { output.text: { matches: '\\d{3}-\\d{4}' } }
    then: { effect: redact, message: "numbers are hidden" }
`;
const guardOf = () => Guard.fromYaml(yaml, { openTelemetry: null });

/** A model that makes these calls in its first turn and says "done" in its second. */
class Script implements Model {
  readonly requests: ModelRequest[] = [];
  readonly #calls: readonly [name: string, args: object][];

  constructor(...calls: [name: string, args: object][]) {
    this.#calls = calls;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    this.requests.push(request);
    const output: ModelResponse['output'] =
      this.requests.length > 1
        ? [
            {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: 'done' }],
            },
          ]
        : this.#calls.map(([name, args], i) => ({
            type: 'function_call',
            callId: `call-${i}`,
            name,
            arguments: JSON.stringify(args),
            status: 'completed',
          }));
    return { usage: new Usage(), output };
  }

  // biome-ignore lint/correctness/useYield: nothing streams here
  async *getStreamedResponse(): ReturnType<Model['getStreamedResponse']> {
    throw new Error('not in this test');
  }
}

const ran: string[] = [];
const ownTools = () => {
  ran.length = 0;
  const read = tool({
    name: 'read_file',
    description: 'reads a file',
    parameters: z.object({ path: z.string() }),
    execute: async ({ path }) => {
      ran.push(path);
      return `contents of ${path}`;
    },
  });
  const find = tool({
    name: 'find',
    description: 'finds a customer',
    parameters: z.object({ name: z.string() }),
    execute: async ({ name }) => ({ name, phone: '555-1234' }),
  });
  return [read, find] as const;
};
const runner = new Runner({ tracingDisabled: true });
const outputsOf = (script: Script): unknown[] =>
  ((script.requests[1]?.input ?? []) as { type?: string; output?: unknown }[])
    .filter(({ type }) => type === 'function_call_result')
    .map(({ output }) => (output as { text?: string }).text ?? output);

describe('tools of the OpenAI Agents SDK in its own runner', () => {
  it('run when allowed, tell the model when denied, and hand on redacted results', async () => {
    const guard = guardOf();
    const model = new Script(
      ['read_file', { path: 'notes.txt' }],
      ['read_file', { path: '/app/.env' }],
      ['find', { name: 'ann' }],
    );
    const agent = new Agent({ name: 'a', model, tools: [...guardOpenAiTools(guard, ownTools())] });
    const { finalOutput } = await runner.run(agent, 'go');
    expect(finalOutput).toBe('done');
    expect(outputsOf(model)).toEqual([
      'contents of notes.txt',
      'Denied: /app/.env holds secrets',
      '{"name":"ann","phone":"[REDACTED]"}',
    ]);
    expect(ran).toEqual(['notes.txt']);
    expect(guard.events.filter('call_denied')).toHaveLength(1);
  });

  it('are governed with their agent: its own tools, agents as tools, and clones', async () => {
    const guard = guardOf();
    const helper = new Agent({ name: 'helper', model: new Script() });
    const asTool = helper.asTool({
      toolName: 'ask_helper',
      toolDescription: 'asks',
      parameters: z.object({ path: z.string() }),
    });
    const first = new Script(['read_file', { path: '.env' }], ['ask_helper', { path: '.env' }]);
    const agent = guardOpenAiAgent(
      guard,
      new Agent({ name: 'a', model: first, tools: [...ownTools(), asTool] }),
    );
    await runner.run(agent, 'go');
    expect(outputsOf(first)).toEqual(['Denied: .env holds secrets', 'Denied: .env holds secrets']);
    // A tool added later, on a clone.
    const second = new Script(['late', { path: '.env' }]);
    const clone = agent.clone({ model: second });
    clone.tools.push(
      tool({
        name: 'late',
        description: 'late',
        parameters: z.object({ path: z.string() }),
        execute: async () => 'ran',
      }),
    );
    await runner.run(clone, 'go');
    expect(outputsOf(second)).toEqual(['Denied: .env holds secrets']);
    expect(ran).toEqual([]);
  });

  it('are governed when an MCP server of the agent brings them', async () => {
    const guard = guardOf();
    const model = new Script(['read_file', { path: '.env' }]);
    const inputSchema = {
      type: 'object' as const,
      properties: { path: { type: 'string' } },
      required: ['path'],
      additionalProperties: false,
    };
    const mcpServer = {
      name: 'files',
      cacheToolsList: true,
      connect: async () => {},
      close: async () => {},
      listTools: async () => [{ name: 'read_file', description: '', inputSchema }],
      callTool: async () => {
        ran.push('mcp');
        return [{ type: 'text', text: 'ran' }];
      },
      invalidateToolsCache: async () => {},
    };
    ran.length = 0;
    const agent = new Agent({ name: 'a', model, mcpServers: [mcpServer as never] });
    await runner.run(guardOpenAiAgent(guard, agent), 'go');
    expect(outputsOf(model)).toEqual(['Denied: .env holds secrets']);
    expect(ran).toEqual([]);
  });

  it('keep the promise of an output schema: a refusal goes to the error function, or throws', async () => {
    const guard = guardOf();
    const [read] = ownTools();
    const strict = { ...read, outputSchema: { type: 'object' }, errorFunction: () => ({ refused: true }) };
    const loose = { ...read, outputSchema: { type: 'object' }, errorFunction: null };
    guardOpenAiTools(guard, [strict, loose] as never);
    const input = JSON.stringify({ path: '.env' });
    expect(await strict.invoke({} as never, input)).toEqual({ refused: true });
    await expect(loose.invoke({} as never, input)).rejects.toThrow('.env holds secrets');
  });

  it('are refused when they run outside a guard; hosted ones run at the provider', () => {
    const guard = guardOf();
    const shell = shellTool({ shell: { run: async () => ({ output: [] }) } as never });
    expect(() => guardOpenAiTools(guard, [shell])).toThrow(
      'a tool with the type shell runs outside the guard',
    );
    expect(() => guardOpenAiTools(guard, [computerTool({ computer: {} as never })])).toThrow('type computer');
    expect(guardOpenAiTools(guard, [webSearchTool()])).toHaveLength(1);
    const tools = guardOpenAiTools(guard, ownTools());
    expect(() => guardOpenAiTools(guardOf(), tools)).toThrow('the tool read_file already has another guard');
    expect(guardOpenAiTools(guard, tools)).toBe(tools);
  });
});
