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
  ask(request: Pick<AiRequest, 'system' | 'messages' | 'tools' | 'maxTokens'>): AsyncGenerator<AiEvent>;
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

export function createAiAccess({ store, clock, secrets, models, log, settings }: Ports): AiAccess {
  async function targetOf(tenantId: string): Promise<AiTarget> {
    const setting = await store.settings.get(tenantId, 'ai');
    if (!setting) throw new HubError('unavailable', 'AI assistant not configured');
    const { provider, model, baseUrl } = setting.value;
    if (model === null) throw new HubError('unavailable', noModel);
    return { provider, model, baseUrl, apiKey: keyOf({ secrets }, setting.value) };
  }

  return {
    async open(tenantId, totalMs, gone) {
      const target = await targetOf(tenantId);
      const begun = clock.monotonic();
      const ending = new AbortController();
      let isLate = false;
      const timer = clock.after(totalMs, () => {
        isLate = true;
        ending.abort();
      });
      let inputTokens = 0;
      let outputTokens = 0;
      let cost: number | null = null;
      let isOver = false;
      const used = (): AiQuestionUse => ({
        inputTokens,
        outputTokens,
        cost: costOf(target, { inputTokens, outputTokens, cost }, settings.aiPrices),
        durationMs: clock.monotonic() - begun,
      });

      const question: AiQuestion = {
        target,
        signal: ending.signal,
        async *ask(request) {
          let last = { inputTokens: 0, outputTokens: 0, cost: null as number | null };
          try {
            const whole = {
              ...request,
              target,
              timeoutMs: Math.min(silenceMs, totalMs),
              signal: ending.signal,
            };
            for await (const event of models.ask(whole)) {
              if (event.kind === 'usage') last = event;
              yield event;
            }
          } catch (error) {
            throw isLate && error instanceof AiError ? new AiError('timeout') : error;
          } finally {
            inputTokens += last.inputTokens;
            outputTokens += last.outputTokens;
            if (last.cost !== null) cost = (cost ?? 0) + last.cost;
          }
        },
        used,
        async end() {
          if (isOver) return;
          isOver = true;
          timer.cancel();
          gone?.removeEventListener('abort', leave);
          ending.abort();
          // An answer is worth more than its figures.
          await store.aiUsage.add(tenantId, dayOf(clock.now()), used()).catch((err: unknown) => {
            log.warn({ err }, 'cannot count the usage of an AI question');
          });
        },
      };
      // The caller may leave before the request.
      const leave = (): void => void question.end();
      gone?.addEventListener('abort', leave);
      if (gone?.aborted) leave();
      return question;
    },
  };
}

/** Models that run on the operator's own machines are often too small for tools. */
export const takesTools = (provider: AiProvider): boolean => provider !== 'local';
