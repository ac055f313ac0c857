// The messages format: an answer is a list of blocks, each begun, continued and ended by events of its own.

import type { AiEvent, AiMessage, AiToolCall } from '../../src/assistant/port/model.ts';
import { AiError, type AiFailure } from '../../src/assistant/record.ts';
import { type AnswerReader, countOf, fieldsOf, objectOf, textOf, type WireFormat } from './call.ts';
import type { ServerEvent } from './sse.ts';

type Fields = ReturnType<typeof fieldsOf>;

/** The version of the format that this file writes and reads. */
const version = '2023-06-01';

/** The model's own input, as an object: any other value is sent as an empty object. */
function inputOf({ input }: AiToolCall): object {
  try {
    const value: unknown = JSON.parse(input);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

function blocksOf(message: AiMessage): { readonly role: 'user' | 'assistant'; readonly content: object[] } {
  if (message.role === 'tools') {
    const content = message.results.map(({ id, content: text }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: text,
    }));
    return { role: 'user', content };
  }
  const calls = message.role === 'assistant' ? (message.calls ?? []) : [];
  return {
    role: message.role,
    content: [
      // An empty text is refused.
      ...(message.content === '' ? [] : [{ type: 'text', text: message.content }]),
      ...calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: inputOf(call) })),
    ],
  };
}

/** Messages of one side that follow each other are one: the format alternates. */
function turnsOf(messages: readonly AiMessage[]): object[] {
  const turns: { readonly role: string; readonly content: object[] }[] = [];
  for (const { role, content } of messages.map(blocksOf)) {
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  return turns;
}

const failures: { readonly [type: string]: AiError['failure'] } = {
  authentication_error: 'unauthorized',
  permission_error: 'unauthorized',
  rate_limit_error: 'rate_limited',
  invalid_request_error: 'rejected',
  not_found_error: 'rejected',
};

/** Reasons for the end of an answer that is not complete. */
const endings: ReadonlyMap<unknown, AiFailure> = new Map([
  ['max_tokens', 'cut_off'],
  ['model_context_window_exceeded', 'cut_off'],
  ['refusal', 'declined'],
]);

class MessagesReader implements AnswerReader {
  readonly #calls = new Map<number, { readonly id: string; readonly name: string; input: string }>();
  #inputTokens = 0;
  #outputTokens = 0;
  #isComplete = false;
  #failure: AiFailure | null = null;

  get complete(): boolean {
    return this.#isComplete;
  }

  get whole(): boolean {
    return this.#isComplete;
  }

  get failure(): AiFailure | null {
    return this.#failure;
  }

  read({ data }: ServerEvent): AiEvent[] {
    const event = objectOf(data);
    switch (event.type) {
      case 'message_start':
        return this.#start(fieldsOf(fieldsOf(event.message).usage));
      case 'content_block_start':
        return this.#startBlock(countOf(event.index), fieldsOf(event.content_block));
      case 'content_block_delta':
        return this.#continueBlock(countOf(event.index), fieldsOf(event.delta));
      case 'content_block_stop':
        return this.#endBlock(countOf(event.index));
      case 'message_delta':
        this.#outputTokens = countOf(fieldsOf(event.usage).output_tokens) || this.#outputTokens;
        this.#failure = endings.get(fieldsOf(event.delta).stop_reason) ?? this.#failure;
        return [this.#usage()];
      case 'message_stop':
        this.#isComplete = true;
        return [];
      case 'error':
        throw new AiError(failures[textOf(fieldsOf(event.error).type)] ?? 'unavailable');
      default:
        return [];
    }
  }

  #usage(): AiEvent {
    return { kind: 'usage', inputTokens: this.#inputTokens, outputTokens: this.#outputTokens, cost: null };
  }

  #start(usage: Fields): AiEvent[] {
    this.#inputTokens =
      countOf(usage.input_tokens) +
      countOf(usage.cache_creation_input_tokens) +
      countOf(usage.cache_read_input_tokens);
    this.#outputTokens = countOf(usage.output_tokens);
    return [this.#usage()];
  }

  #startBlock(index: number, block: Fields): AiEvent[] {
    if (block.type === 'tool_use') {
      this.#calls.set(index, { id: textOf(block.id), name: textOf(block.name), input: '' });
    }
    return block.type === 'text' && textOf(block.text) !== ''
      ? [{ kind: 'text', text: textOf(block.text) }]
      : [];
  }

  #continueBlock(index: number, delta: Fields): AiEvent[] {
    const call = this.#calls.get(index);
    if (delta.type === 'input_json_delta' && call) call.input += textOf(delta.partial_json);
    return delta.type === 'text_delta' ? [{ kind: 'text', text: textOf(delta.text) }] : [];
  }

  #endBlock(index: number): AiEvent[] {
    const call = this.#calls.get(index);
    this.#calls.delete(index);
    return call ? [{ kind: 'call', call: { ...call, input: call.input || '{}' } }] : [];
  }
}

export const messagesFormat: WireFormat = {
  path: '/messages',
  headers: ({ target: { apiKey } }) => ({
    'anthropic-version': version,
    ...(apiKey === null ? {} : { 'x-api-key': apiKey }),
  }),
  body: ({ target, system, messages, tools, toolChoice, maxTokens }) => ({
    model: target.model,
    max_tokens: maxTokens,
    system,
    messages: turnsOf(messages),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, parameters }) => ({
            name,
            description,
            input_schema: parameters,
          })),
          ...(toolChoice === undefined ? {} : { tool_choice: { type: toolChoice } }),
        }),
    stream: true,
  }),

  reader: () => new MessagesReader(),
};
