// The chat completions format: an answer is a list of chunks, each with a piece of the text or of a tool call's
// arguments.

import type { AiEvent, AiMessage, AiRequest, AiToolCall } from '../../src/assistant/port/model.ts';
import { AiError, type AiFailure } from '../../src/assistant/record.ts';
import { type AnswerReader, countOf, fieldsOf, listOf, objectOf, textOf, type WireFormat } from './call.ts';
import type { ServerEvent } from './sse.ts';

const callOf = ({ id, name, input }: AiToolCall) => ({
  id,
  type: 'function',
  function: { name, arguments: input },
});

function messagesOf(message: AiMessage): object[] {
  if (message.role === 'tools') {
    return message.results.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content }));
  }
  const calls = message.role === 'assistant' ? (message.calls ?? []) : [];
  if (calls.length === 0) return [{ role: message.role, content: message.content }];
  return [{ role: message.role, content: message.content || null, tool_calls: calls.map(callOf) }];
}

/** How the members of this family ask for the same thing. */
function limitsOf({ target: { provider }, maxTokens }: AiRequest): object {
  switch (provider) {
    case 'hosted_b':
      return { max_completion_tokens: maxTokens, stream_options: { include_usage: true } };
    case 'router':
      return { max_tokens: maxTokens, usage: { include: true }, stream_options: { include_usage: true } };
    default:
      return { max_tokens: maxTokens, stream_options: { include_usage: true } };
  }
}

/** The code of an error that comes inside a stream: a status, or a word. */
function failureOf(error: unknown): AiError {
  const { code, type } = fieldsOf(error);
  const words = `${textOf(code)} ${textOf(type)}`;
  if (code === 429 || words.includes('rate_limit')) return new AiError('rate_limited');
  if (code === 401 || code === 403) return new AiError('unauthorized');
  return new AiError('unavailable');
}

function usageOf(value: unknown): AiEvent[] {
  if (typeof value !== 'object' || value === null) return [];
  const { prompt_tokens, completion_tokens, cost } = fieldsOf(value);
  return [
    {
      kind: 'usage',
      inputTokens: countOf(prompt_tokens),
      outputTokens: countOf(completion_tokens),
      cost: typeof cost === 'number' && cost >= 0 ? cost : null,
    },
  ];
}

/** Reasons for the end of an answer that is not complete. */
const endings: ReadonlyMap<unknown, AiFailure> = new Map([
  ['length', 'cut_off'],
  ['content_filter', 'filtered'],
]);

class ChatCompletionsReader implements AnswerReader {
  readonly #calls = new Map<number, { id: string; name: string; input: string }>();
  #isFinished = false;
  #isComplete = false;
  #failure: AiFailure | null = null;

  get complete(): boolean {
    return this.#isComplete;
  }

  get whole(): boolean {
    return this.#isComplete || this.#isFinished;
  }

  get failure(): AiFailure | null {
    return this.#failure;
  }

  read({ data }: ServerEvent): AiEvent[] {
    if (data.trim() === '[DONE]') {
      // Some providers end like this without a reason.
      this.#isComplete = true;
      return this.#wholeCalls();
    }
    const chunk = objectOf(data);
    if (chunk.error !== undefined && chunk.error !== null) throw failureOf(chunk.error);
    const events = listOf(chunk.choices).flatMap((choice) => this.#readChoice(choice));
    events.push(...usageOf(chunk.usage));
    if (this.#isFinished) events.push(...this.#wholeCalls());
    return events;
  }

  #readChoice(choice: unknown): AiEvent[] {
    const { delta: piece, finish_reason: reason } = fieldsOf(choice);
    if (reason === 'error') throw new AiError('unavailable');
    const delta = fieldsOf(piece);
    for (const part of listOf(delta.tool_calls)) this.#addPart(part);
    if (typeof reason === 'string') this.#isFinished = true;
    if (textOf(delta.refusal) !== '') this.#failure = 'declined';
    this.#failure = endings.get(reason) ?? this.#failure;
    const text = textOf(delta.content);
    return text === '' ? [] : [{ kind: 'text', text }];
  }

  #addPart(part: unknown): void {
    const { index, id, function: called } = fieldsOf(part);
    const call = this.#calls.get(countOf(index)) ?? { id: '', name: '', input: '' };
    this.#calls.set(countOf(index), call);
    call.id ||= textOf(id);
    call.name ||= textOf(fieldsOf(called).name);
    call.input += textOf(fieldsOf(called).arguments);
  }

  /** The calls are whole when the answer is. */
  #wholeCalls(): AiEvent[] {
    const whole = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => call);
    this.#calls.clear();
    return whole.map((call) => ({ kind: 'call', call: { ...call, input: call.input || '{}' } }));
  }
}

export const chatCompletionsFormat: WireFormat = {
  path: '/chat/completions',
  headers: ({ target: { apiKey } }): Readonly<Record<string, string>> =>
    apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
  body: (request) => ({
    model: request.target.model,
    messages: [{ role: 'system', content: request.system }, ...request.messages.flatMap(messagesOf)],
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map((tool) => ({ type: 'function', function: { ...tool } })),
          ...(request.toolChoice === undefined ? {} : { tool_choice: request.toolChoice }),
        }),
    ...limitsOf(request),
    stream: true,
  }),

  reader: () => new ChatCompletionsReader(),
};
