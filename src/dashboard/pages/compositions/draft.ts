// A composition as its form holds it: the contracts in their order, each on or off and with a mode, and which saved
// state the changes began from.
import type { Input, Reply } from '../../lib/api.ts';

export interface Item {
  readonly id: string;
  /** Empty: the contract's own. */
  readonly mode: '' | 'enforce' | 'observe';
  readonly enabled: boolean;
}

export interface CompositionDraft {
  readonly items: readonly Item[];
  /** Of contracts that name none. */
  readonly mode: 'enforce' | 'observe';
  /** When the state that is changed was saved. */
  readonly base: string;
}

export const storedOf = (of: Reply<'getComposition'>): CompositionDraft => ({
  items: [...of.contracts]
    .sort((a, b) => a.position - b.position)
    .map((one) => ({ id: one.contract_id, mode: one.mode_override ?? '', enabled: one.enabled })),
  mode: of.defaults_mode,
  base: of.updated_at,
});

/** The same for two that say the same. */
export const textOf = ({ items, mode }: CompositionDraft): string => JSON.stringify([items, mode]);

export const bodyOf = (name: string, { items, mode, base }: CompositionDraft): Input<'updateComposition'> =>
  ({
    params: { name },
    body: {
      if_updated_at: base,
      defaults_mode: mode,
      contracts: items.map((one, position) => ({
        contract_id: one.id,
        position,
        mode_override: one.mode === '' ? null : one.mode,
        enabled: one.enabled,
      })),
    },
  }) as Input<'updateComposition'>;
