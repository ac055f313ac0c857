// Guarded tools inside the real AI SDK: its own loop calls them, and its own types accept them. The model is a script.
import { generateText, type InferToolOutput, stepCountIs, streamText, tool } from 'ai';
import { convertArrayToReadableStream, MockLanguageModelV3 } from 'ai/test';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { Guard, guardTools, isRefusal, type Refusal } from '../../src/index.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
tools: { find: { side_effect: read } }
contracts:
  - id: no-secrets
    type: pre
    tool: read_file
    when: { args.path: { contains: ".env" } }
    then: { effect: deny, message: "{args.path} holds secrets" }
  - id: numbers
    type: post
    tool: find
    when: { output.text: { matches: '\\d{3}-\\d{4}' } }
    then: { effect: redact, message: "numbers are hidden" }
`;

const ran: string[] = [];
const ownTools = () => ({
  read_file: tool({
    description: 'reads a file',
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }) => {
      ran.push(path);
      return `contents of ${path}`;
    },
  }),
  find: tool({
    description: 'finds a customer',
    inputSchema: z.object({ name: z.string() }),
    execute: async ({ name }) => ({ name, phone: '555-1234' }),
    toModelOutput: ({ output }) => ({ type: 'text', value: `${output.name}: ${output.phone}` }),
  }),
});
const guardedTools = () => {
  const guard = Guard.fromYaml(yaml, { openTelemetry: null });
  ran.length = 0;
  return { guard, tools: guardTools(guard, ownTools()) };
};

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const call = (toolName: string, input: object) => ({
  type: 'tool-call' as const,
  toolCallId: `call-${toolName}-${JSON.stringify(input)}`,
  toolName,
  input: JSON.stringify(input),
});
const generated = (content: ReturnType<typeof call>[] | { type: 'text'; text: string }[]) => ({
  content,
  finishReason: { unified: 'stop' as const, raw: undefined },
  usage,
  warnings: [],
});

/** A model that calls these tools in its first step and says "done" in its second. */
const scripted = (...calls: ReturnType<typeof call>[]) =>
  new MockLanguageModelV3({ doGenerate: [generated(calls), generated([{ type: 'text', text: 'done' }])] });

describe('tools of the AI SDK in its own loop', () => {
  it('run when allowed, tell the model when denied, and hand on redacted results', async () => {
    const { guard, tools } = guardedTools();
    const model = scripted(
      call('read_file', { path: 'notes.txt' }),
      call('read_file', { path: '/app/.env' }),
      call('find', { name: 'ann' }),
    );
    const { text, steps } = await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(3) });
    expect(text).toBe('done');
    expect(steps[0]?.toolResults.map(({ output }) => output)).toEqual([
      'contents of notes.txt',
      { refusal: 'denied', contract: 'no-secrets', message: '/app/.env holds secrets' },
      { name: 'ann', phone: '[REDACTED]' },
    ]);
    expect(ran).toEqual(['notes.txt']);
    const read = JSON.stringify(model.doGenerateCalls[1]?.prompt);
    expect(read).not.toContain('555-1234');
    expect(read).toContain('{"type":"error-text","value":"Denied: /app/.env holds secrets"}');
    expect(guard.events.filter('call_denied')).toHaveLength(1);
  });

  it('say in their types that a result can be a refusal', async () => {
    const { tools } = guardedTools();
    type Found = { name: string; phone: string };
    expectTypeOf<InferToolOutput<typeof tools.find>>().toEqualTypeOf<Found | Refusal>();
    expectTypeOf<InferToolOutput<typeof tools.read_file>>().toEqualTypeOf<string | Refusal>();
    const model = scripted(call('read_file', { path: '.env' }), call('find', { name: 'ann' }));
    const { steps } = await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) });
    const told: string[] = [];
    for (const result of steps[0]?.toolResults ?? []) {
      if (result.dynamic || result.toolName !== 'find') continue;
      // The compiler asks for this question before the promised object can be read.
      told.push(isRefusal(result.output) ? result.output.message : result.output.name);
    }
    expect(told).toEqual(['ann']);
  });

  it('fail in the words of the SDK when denials are thrown', async () => {
    ran.length = 0;
    const guard = Guard.fromYaml(yaml, { openTelemetry: null });
    const tools = guardTools(guard, ownTools(), { onDeny: 'throw' });
    expectTypeOf(tools).toEqualTypeOf<ReturnType<typeof ownTools>>();
    const model = scripted(call('read_file', { path: '.env' }));
    const { steps } = await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) });
    expect(steps[0]?.content).toContainEqual(
      expect.objectContaining({
        type: 'tool-error',
        error: expect.objectContaining({ name: 'DeniedError' }),
      }),
    );
    expect(ran).toEqual([]);
  });

  it('are governed when the model streams', async () => {
    const { tools } = guardedTools();
    const finish = {
      type: 'finish' as const,
      finishReason: { unified: 'stop' as const, raw: undefined },
      usage,
    };
    const model = new MockLanguageModelV3({
      doStream: [
        { stream: convertArrayToReadableStream([call('read_file', { path: '.env' }), finish]) },
        { stream: convertArrayToReadableStream([finish]) },
      ],
    });
    const result = streamText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) });
    const outputs: unknown[] = [];
    for await (const part of result.fullStream) if (part.type === 'tool-result') outputs.push(part.output);
    expect(outputs).toMatchObject([{ refusal: 'denied', message: '.env holds secrets' }]);
    expect(ran).toEqual([]);
  });
});
