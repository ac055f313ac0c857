// Shared parts of questions to a language model: address, key, time limit and usage counts.

import { HubError } from '../../shared/error.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { AiEvent, AiRequest, AiTarget } from '../port/model.ts';
import { type AiConfig, AiError, type AiProvider, costOf, dayOf } from '../record.ts';

/** One question of a person, which may need several requests to the provider. */
export interface AiQuestion {
  readonly target: AiTarget;
  /** Ends with the question: by its time, or by who asked. */
  readonly signal: AbortSignal;
  /** One request; adds what it uses to the question. @throws AiError, `timeout` when the question's time is over */
  ask(
    request: Pick<AiRequest, 'system' | 'messages' | 'tools' | 'toolChoice' | 'maxTokens'>,
  ): AsyncGenerator<AiEvent>;
  /** The usage so far. */
  used(): AiQuestionUse;
  /**
   * To be called whatever came of it: counts the use, once, and closes what is open. Leaving (`gone`) does the same.
   */
  end(): Promise<void>;
}

export interface AiQuestionUse {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** USD; null when it is not known. */
  readonly cost: number | null;
  readonly durationMs: number;
}

export interface AiAccess {
  /** @throws HubError unavailable when nothing is set, or no model */
  open(tenantId: string, totalMs: number, gone?: AbortSignal): Promise<AiQuestion>;
}

/** Until an answer begins, and between two pieces of it: less than proxies wait. */
const silenceMs = 50_000;

type Ports = Pick<AppPorts, 'store' | 'clock' | 'secrets' | 'models' | 'log' | 'settings'>;

/** The key in the clear; null without one. */
export const keyOf = ({ secrets }: Pick<Ports, 'secrets'>, { sealedKey }: AiConfig): string | null =>
  sealedKey === null ? null : new TextDecoder().decode(secrets.unseal('ai-key', sealedKey));

/** Error message for a tenant without a model. */
export const noModel = 'No AI model is configured. Choose one in the AI settings.';

type RequestUse = Omit<AiQuestionUse, 'durationMs'>;

const sumOf = (before: RequestUse, { inputTokens, outputTokens, cost }: RequestUse): RequestUse => ({
  inputTokens: before.inputTokens + inputTokens,
  outputTokens: before.outputTokens + outputTokens,
  cost: cost === null ? before.cost : (before.cost ?? 0) + cost,
});

/** A question that is open. Its figures are the sum of its requests. */
class OpenQuestion implements AiQuestion {
  readonly target: AiTarget;
  readonly #ports: Ports;
  readonly #tenantId: string;
  readonly #totalMs: number;
  readonly #gone: AbortSignal | undefined;
  readonly #begun: number;
  readonly #ending = new AbortController();
  readonly #timer: ReturnType<Ports['clock']['after']>;
  readonly #leave = (): void => void this.end();
  #sum: RequestUse = { inputTokens: 0, outputTokens: 0, cost: null };
  #isLate = false;
  #isOver = false;

  constructor(ports: Ports, tenantId: string, target: AiTarget, totalMs: number, gone?: AbortSignal) {
    this.#ports = ports;
    this.#tenantId = tenantId;
    this.target = target;
    this.#totalMs = totalMs;
    this.#gone = gone;
    this.#begun = ports.clock.monotonic();
    this.#timer = ports.clock.after(totalMs, () => {
      this.#isLate = true;
      this.#ending.abort();
    });
    // The caller may leave before the request.
    gone?.addEventListener('abort', this.#leave);
    if (gone?.aborted) this.#leave();
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  async *ask(request: Parameters<AiQuestion['ask']>[0]): AsyncGenerator<AiEvent> {
    const { target, signal } = this;
    const before = this.#sum;
    try {
      const whole = { ...request, target, timeoutMs: Math.min(silenceMs, this.#totalMs), signal };
      for await (const event of this.#ports.models.ask(whole)) {
        // At once: a caller who leaves ends the question before this request returns.
        if (event.kind === 'usage') this.#sum = sumOf(before, event);
        yield event;
      }
    } catch (error) {
      throw this.#isLate && error instanceof AiError ? new AiError('timeout') : error;
    }
  }

  used(): AiQuestionUse {
    const { inputTokens, outputTokens } = this.#sum;
    return {
      inputTokens,
      outputTokens,
      cost: costOf(this.target, this.#sum, this.#ports.settings.aiPrices),
      durationMs: this.#ports.clock.monotonic() - this.#begun,
    };
  }

  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    const { store, clock, log } = this.#ports;
    this.#timer.cancel();
    this.#gone?.removeEventListener('abort', this.#leave);
    this.#ending.abort();
    // An answer is worth more than its figures.
    await store.aiUsage.add(this.#tenantId, dayOf(clock.now()), this.used()).catch((err: unknown) => {
      log.warn({ err }, 'cannot count the usage of an AI question');
    });
  }
}

export const createAiAccess = (ports: Ports): AiAccess => ({
  open: async (tenantId, totalMs, gone) =>
    new OpenQuestion(ports, tenantId, await targetOf(ports, tenantId), totalMs, gone),
});

async function targetOf({ store, secrets }: Ports, tenantId: string): Promise<AiTarget> {
  const setting = await store.settings.get(tenantId, 'ai');
  if (!setting) throw new HubError('unavailable', 'AI assistant not configured');
  const { provider, model, baseUrl } = setting.value;
  if (model === null) throw new HubError('unavailable', noModel);
  return { provider, model, baseUrl, apiKey: keyOf({ secrets }, setting.value) };
}

/** Models that run on the operator's own machines are often too small for tools. */
export const takesTools = (provider: AiProvider): boolean => provider !== 'local';
