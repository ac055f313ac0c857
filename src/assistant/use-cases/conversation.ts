// AI assistance for people who write contracts: a conversation in which the model may check and try what it writes, and
// descriptions of contracts.

import type { Admission } from '../../admission/admission.ts';
import type { Inspector } from '../../bundle/use-cases/inspection.ts';
import type { JsonObject } from '../../contract/record.ts';
import { listedEnvs, requireRole } from '../../shared/access.ts';
import { dayMs, minuteMs } from '../../shared/duration.ts';
import { HubError } from '../../shared/error.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { AiMessage, AiToolCall } from '../port/model.ts';
import { AiError } from '../record.ts';
import { type AiAccess, type AiQuestion, type AiQuestionUse, takesTools } from './access.ts';
import {
  contextMessage,
  describeMessage,
  describeSystem,
  hasSentence,
  maxContracts,
  maxTools,
  oneSentence,
  systemPrompt,
} from './context.ts';
import { assistantTools, createToolRunner } from './tools.ts';

export interface Conversation {
  /** The last one is the user's. */
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[];
  readonly currentYaml: string | null;
}

/** Events of an answer, in order. The last one is `failed` after a failure, else `used` if any tokens were reported. */
export type AssistEvent =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'toolStarted'; readonly id: string; readonly tool: string }
  | {
      readonly kind: 'toolEnded';
      readonly id: string;
      readonly tool: string;
      readonly result: JsonObject;
      readonly durationMs: number;
    }
  | { readonly kind: 'used'; readonly model: string; readonly use: AiQuestionUse }
  /** A sentence that may be shown. */
  | { readonly kind: 'failed'; readonly message: string };

export interface DescribedContract {
  readonly name: string;
  readonly type: string;
  readonly definitionYaml: string;
  readonly tags: readonly string[];
}

export interface Assistant {
  /**
   * Begins an answer. Ask for its events one after another; when nobody will, abort `gone`: that ends the provider's
   * call.
   * @throws HubError forbidden; unavailable when nothing is configured; rate_limited
   */
  assist(
    principal: Principal,
    conversation: Conversation,
    gone: AbortSignal,
  ): Promise<AsyncGenerator<AssistEvent>>;
  /**
   * One sentence.
   * @throws HubError forbidden, unavailable (nothing is configured, or the provider failed)
   */
  describe(principal: Principal, contract: DescribedContract): Promise<string>;
}

/** An answer as a whole. */
const assistMs = 3 * minuteMs;
const maxRounds = 5;
const maxCalls = 10;
const assistTokens = 4_096;
/** Characters of an answer of one round; models repeat themselves. */
const maxText = 100_000;
/** Characters of a tool's result that the model sees. */
const maxResult = 8_000;

const describeMs = 15_000;
const describeTokens = 150;
const maxDescription = 500;
const weekMs = 7 * dayMs;

type Ports = Pick<
  AppPorts,
  'admission' | 'store' | 'clock' | 'secrets' | 'evaluator' | 'log' | 'settings'
> & {
  readonly access: AiAccess;
  readonly inspector: Inspector;
};

class ConversationAssistant implements Assistant {
  readonly #ports: Ports;
  readonly #runTool: ReturnType<typeof createToolRunner>;
  readonly #admission: Admission;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#runTool = createToolRunner(ports);
    this.#admission = ports.admission;
  }

  async assist(
    principal: Principal,
    conversation: Conversation,
    gone: AbortSignal,
  ): Promise<AsyncGenerator<AssistEvent>> {
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const permit = this.#admission.take({ tenantId }, 'aiAnswers');
    try {
      const question = await this.#ports.access.open(tenantId, assistMs, gone);
      // Also when nobody ever asks for the first event.
      question.signal.addEventListener('abort', permit.release, { once: true });
      if (question.signal.aborted) permit.release();
      return this.#whole(question, principal, conversation);
    } catch (error) {
      permit.release();
      throw error;
    }
  }

  async describe(principal: Principal, contract: DescribedContract): Promise<string> {
    requireRole(principal, 'operator');
    const question = await this.#ports.access.open(principal.tenantId, describeMs);
    const mark = this.#ports.secrets.token(9);
    let text = '';
    try {
      const messages = [describeMessage(contract, mark)];
      const request = { system: describeSystem(mark), messages, tools: [], maxTokens: describeTokens };
      for await (const event of question.ask(request)) if (event.kind === 'text') text += event.text;
    } catch (error) {
      if (!(error instanceof AiError)) throw error;
      // One whole sentence is enough, although the model began another.
      const isEnough = error.failure === 'cut_off' && hasSentence(text);
      if (!isEnough) throw new HubError('unavailable', error.message);
    } finally {
      await question.end();
    }
    const description = oneSentence(text, maxDescription);
    if (description === '')
      throw new HubError('unavailable', 'The provider returned an empty answer. Try again.');
    return description;
  }

  /** The context for the model, as far as it is available. */
  async #contextOf(principal: Principal, currentYaml: string | null, mark: string): Promise<AiMessage> {
    const { clock, store, log } = this.#ports;
    const { tenantId } = principal;
    const since = clock.now() - weekMs;
    const without = (err: unknown): readonly [] => {
      log.warn({ err }, 'cannot read context data for an AI question; it is sent without them');
      return [];
    };
    const [contracts, tools] = await Promise.all([
      store.contracts
        .list(tenantId, {}, { limit: maxContracts, offset: 0 })
        .then(({ items }) => items)
        .catch(without),
      store.events
        .facets(tenantId, { env: listedEnvs(principal, null), since }, maxTools)
        .then(({ by }) =>
          by.toolName.top.map(({ value, count }) => ({ name: value.slice(0, 255), calls: count })),
        )
        .catch(without),
    ]);
    return contextMessage({ contracts, tools, currentYaml }, mark);
  }

  /** One request: its text goes out as it comes, its calls come back. */
  async *#round(
    question: AiQuestion,
    request: Parameters<AiQuestion['ask']>[0],
  ): AsyncGenerator<AssistEvent, { readonly text: string; readonly calls: readonly AiToolCall[] }> {
    let text = '';
    const calls: AiToolCall[] = [];
    for await (const event of question.ask(request)) {
      if (event.kind === 'call') calls.push(event.call);
      if (event.kind !== 'text' || event.text === '') continue;
      text += event.text;
      yield event;
      if (text.length > maxText) throw new AiError('too_long');
    }
    return { text, calls };
  }

  async *#answer(
    question: AiQuestion,
    principal: Principal,
    { messages, currentYaml }: Conversation,
  ): AsyncGenerator<AssistEvent> {
    const { secrets, clock } = this.#ports;
    const mark = secrets.token(9);
    const withTools = takesTools(question.target.provider);
    const thread: AiMessage[] = [await this.#contextOf(principal, currentYaml, mark), ...messages];
    let callsLeft = withTools ? maxCalls : 0;
    for (let left = maxRounds; left > 0; left--) {
      // In the last round the model has to answer. Its tools stay, because earlier rounds called them.
      const canCall = left > 1 && callsLeft > 0;
      const system = systemPrompt(mark, withTools);
      const { text, calls } = yield* this.#round(question, {
        system,
        messages: thread,
        tools: withTools ? assistantTools : [],
        ...(canCall ? {} : { toolChoice: 'none' }),
        maxTokens: assistTokens,
      });
      if (calls.length === 0 || !canCall) return;
      const results: { readonly id: string; readonly content: string }[] = [];
      for (const call of calls) {
        const { id } = call;
        const tool = call.name.slice(0, 64);
        yield { kind: 'toolStarted', id, tool };
        const begun = clock.monotonic();
        const result: JsonObject =
          callsLeft-- > 0
            ? await this.#runTool(principal.tenantId, call)
            : { error: 'The answer needs too many tool calls. Ask a smaller question.' };
        yield { kind: 'toolEnded', id, tool, result, durationMs: Math.round(clock.monotonic() - begun) };
        results.push({ id, content: JSON.stringify(result).slice(0, maxResult) });
      }
      thread.push({ role: 'assistant', content: text, calls }, { role: 'tools', results });
    }
  }

  /** The answer with its figures, or why there is none. Closes the question, however it ends. */
  async *#whole(
    question: AiQuestion,
    principal: Principal,
    conversation: Conversation,
  ): AsyncGenerator<AssistEvent> {
    try {
      yield* this.#answer(question, principal, conversation);
      const use = question.used();
      if (use.inputTokens + use.outputTokens > 0) yield { kind: 'used', model: question.target.model, use };
    } catch (error) {
      if (!(error instanceof AiError)) this.#ports.log.error({ err: error }, 'an AI answer failed');
      const message = error instanceof AiError ? error.message : 'The AI assistant failed. Try again.';
      yield { kind: 'failed', message };
    } finally {
      await question.end();
    }
  }
}

export const createAssistant = (ports: Ports): Assistant => new ConversationAssistant(ports);
