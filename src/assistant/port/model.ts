// Language models of any provider, behind one form. Adapters: adapters/ai, one file a wire format.
import type { AiProvider } from '../record.ts';

/** Model of a provider. */
export interface AiTarget {
  readonly provider: AiProvider;
  /** Null where the provider needs none. */
  readonly apiKey: string | null;
  readonly model: string;
  /** Instead of the provider's own address. */
  readonly baseUrl: string | null;
}

/** Description of a tool for the model. */
export interface AiTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its input: an object. */
  readonly parameters: object;
}

/** A call that a model asks for. */
export interface AiToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it, perhaps wrong. */
  readonly input: string;
}

export type AiMessage =
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly calls?: readonly AiToolCall[] }
  /** Results of the calls in the previous message. */
  | {
      readonly role: 'tools';
      readonly results: readonly { readonly id: string; readonly content: string }[];
    };

/** One question to a model. */
export interface AiRequest {
  readonly target: AiTarget;
  readonly system: string;
  /** Begins with one of the user's. */
  readonly messages: readonly AiMessage[];
  /** Also those of earlier calls in the messages: providers refuse a call of a tool that the request lacks. */
  readonly tools: readonly AiTool[];
  /** `none`: the model answers with text and calls nothing. Absent: it decides. */
  readonly toolChoice?: 'none';
  readonly maxTokens: number;
  /** Until the answer begins, and then between two pieces of it. */
  readonly timeoutMs: number;
  /** Ends the call to the provider at once. */
  readonly signal: AbortSignal;
}

export type AiEvent =
  | { readonly kind: 'text'; readonly text: string }
  /** Whole: its input is complete. */
  | { readonly kind: 'call'; readonly call: AiToolCall }
  /** Tokens of this request so far; the last one counts. `cost`: USD, if the provider returns it. */
  | {
      readonly kind: 'usage';
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly cost: number | null;
    };

/** The models of all providers. */
export interface AiModels {
  /**
   * One answer, piece by piece. A reader that stops closes the connection. The sequence ends when the provider marks
   * the answer complete; an answer that is cut off, filtered or declined is an error.
   * @throws AiError, also in the middle
   */
  ask(request: AiRequest): AsyncIterable<AiEvent>;
}
