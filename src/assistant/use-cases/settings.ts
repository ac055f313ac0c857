// A tenant's choice of who assists its people: kept with the key sealed, tried out, and what its use cost. Everybody
// who signs in may change the choice. A key that is kept never goes to another provider or address than the one it was
// entered for.

import { type CountLimit, limits } from '../../admission/limit.ts';
import { changeBy, noted } from '../../audit/note.ts';
import { requireRole } from '../../shared/access.ts';
import { dayMs } from '../../shared/duration.ts';
import { HubError } from '../../shared/error.ts';
import { OutboundError } from '../../shared/outbound.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Setting } from '../../tenant/rules/settings.ts';
import {
  type AiConfig,
  type AiDay,
  AiError,
  type AiProvider,
  dayOf,
  isMaskedKey,
  maskedKey,
} from '../record.ts';
import { type AiAccess, noModel } from './access.ts';

/** A change of the settings. Undefined keeps a value, null clears it. A hosted provider's key cannot be cleared. */
export interface AiChange {
  readonly provider: AiProvider;
  /** The mask of any key stands for the stored one. */
  readonly apiKey?: string | null;
  readonly model?: string | null;
  readonly baseUrl?: string | null;
}

export interface AiTrial {
  readonly model: string | null;
  /** Null when it did not work. */
  readonly latencyMs: number | null;
  /** Null when it worked. */
  readonly error: string | null;
}

const testMs = 30_000;

const hello = [{ role: 'user', content: 'Say ok.' }] as const;

type Ports = Pick<AppPorts, 'store' | 'clock' | 'secrets' | 'outbound'> & {
  readonly access: AiAccess;
};

/** Fields that a record may show: no key, masked or not. */
const openFields = ({ provider, model, baseUrl }: AiConfig) => ({ provider, model, baseUrl });

export class AiSettings {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Null when nothing is set. */
  get({ tenantId }: Principal): Promise<Setting<'ai'> | null> {
    return this.#ports.store.settings.get(tenantId, 'ai');
  }

  /** @throws HubError forbidden; unprocessable (the key is asked for again, or the address is not allowed) */
  async update(principal: Principal, change: AiChange): Promise<Setting<'ai'>> {
    const { store, outbound, clock } = this.#ports;
    requireRole(principal, 'admin');
    const { tenantId } = principal;
    const before = (await store.settings.get(tenantId, 'ai'))?.value ?? null;
    const same = before?.provider === change.provider ? before : null;
    const baseUrl = change.baseUrl === undefined ? (same?.baseUrl ?? null) : change.baseUrl || null;
    const model = change.model === undefined ? (same?.model ?? null) : change.model || null;
    const key = this.#keyFor(change, baseUrl, before);
    if (baseUrl !== null && baseUrl !== before?.baseUrl) {
      await outbound.check(baseUrl).catch((error: unknown) => {
        if (!(error instanceof OutboundError)) throw error;
        throw new HubError('unprocessable', `base_url: ${error.message}`);
      });
    }
    const setting: Setting<'ai'> = {
      tenantId,
      name: 'ai',
      value: { provider: change.provider, ...key, model, baseUrl },
      updatedAt: clock.now(),
      updatedBy: actorName(principal.actor),
    };
    await noted(this.#ports, principal, {
      action: 'setting.updated',
      subject: { id: 'ai', name: 'AI assistance' },
      summary: `AI assistance is provided by ${change.provider}`,
      details: {
        provider: change.provider,
        model,
        baseUrl,
        keyChanged: key.sealedKey !== (before?.sealedKey ?? null),
        ...changeBy(this.#ports, before && openFields(before), { provider: change.provider, model, baseUrl }),
      },
    }).settings.update(setting);
    return setting;
  }

  /** Safe to repeat. @throws HubError forbidden */
  async remove(principal: Principal): Promise<void> {
    requireRole(principal, 'admin');
    await noted(this.#ports, principal, {
      action: 'setting.deleted',
      subject: { id: 'ai', name: 'AI assistance' },
      summary: 'AI assistance was turned off',
    }).settings.remove(principal.tenantId, 'ai');
  }

  /** Asks the provider something short; at most 30 s. @throws HubError forbidden, rate_limited */
  async test(principal: Principal, count: CountLimit): Promise<AiTrial> {
    const { store, access, clock } = this.#ports;
    requireRole(principal, 'admin');
    const { tenantId } = principal;
    const setting = await store.settings.get(tenantId, 'ai');
    const model = setting?.value.model ?? null;
    const failed = (error: string): AiTrial => ({ model, latencyMs: null, error });
    if (!setting) return failed('AI not configured');
    if (model === null) return failed(noModel);
    await count(limits.aiTests);
    const question = await access.open(tenantId, testMs);
    const begun = clock.monotonic();
    try {
      const request = { system: 'Answer with one word.', messages: hello, tools: [], maxTokens: 16 };
      for await (const _event of question.ask(request));
    } catch (error) {
      if (!(error instanceof AiError)) throw error;
      // A wordy model answers too.
      if (error.failure !== 'cut_off') return failed(error.message);
    } finally {
      await question.end();
    }
    return { model, latencyMs: Math.round(clock.monotonic() - begun), error: null };
  }

  /** Usage of the last `days` days, in order. Days without questions are left out. */
  listUsage({ tenantId }: Principal, days: number): Promise<readonly AiDay[]> {
    return this.#ports.store.aiUsage.listDays(tenantId, dayOf(this.#ports.clock.now() - (days - 1) * dayMs));
  }

  /** The key part of the new record. @throws HubError unprocessable */
  #keyFor(
    { provider, apiKey }: AiChange,
    baseUrl: string | null,
    before: AiConfig | null,
  ): Pick<AiConfig, 'sealedKey' | 'maskedKey'> {
    const none = { sealedKey: null, maskedKey: null };
    const isMasked = typeof apiKey === 'string' && isMaskedKey(apiKey);
    if (isMasked && (before?.sealedKey ?? null) === null) {
      throw new HubError(
        'unprocessable',
        'The api_key is masked, and no key is stored. Enter the api_key again.',
      );
    }
    if (typeof apiKey === 'string' && apiKey !== '' && !isMasked) {
      const sealedKey = this.#ports.secrets.seal('ai-key', new TextEncoder().encode(apiKey));
      return { sealedKey, maskedKey: maskedKey(apiKey) };
    }
    if (provider === 'local' && (apiKey === null || before?.provider !== 'local')) return none;
    if (!before || before.sealedKey === null) {
      if (provider === 'local') return none;
      throw new HubError('unprocessable', 'This provider needs an api_key. Send one.');
    }
    if (before.provider !== provider || before.baseUrl !== baseUrl) {
      throw new HubError(
        'unprocessable',
        'The provider or the base_url changes, and the stored key belongs to the previous one. Enter the api_key again.',
      );
    }
    const { sealedKey, maskedKey: masked } = before;
    return { sealedKey, maskedKey: masked };
  }
}
