// The form's state of a composition: contracts in order with switch and mode, and the saved state that the changes are
// based on.
import type { Input, Reply } from '../../lib/api.ts';
import { useAction } from '../../lib/query.ts';

export interface Item {
  readonly id: string;
  /** Empty for the contract's own mode. */
  readonly mode: '' | 'enforce' | 'observe';
  readonly enabled: boolean;
}

export interface CompositionDraft {
  readonly items: readonly Item[];
  /** Mode of contracts without their own. */
  readonly mode: 'enforce' | 'observe';
  /** Time when the state below the changes was saved. */
  readonly base: string;
}

export const storedOf = (of: Reply<'getComposition'>): CompositionDraft => ({
  items: [...of.contracts]
    .sort((a, b) => a.position - b.position)
    .map((one) => ({ id: one.contract_id, mode: one.mode_override ?? '', enabled: one.enabled })),
  mode: of.defaults_mode,
  base: of.updated_at,
});

/** Equal for drafts with equal content. */
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

const touched = [
  'listCompositions',
  'getComposition',
  'previewComposition',
  'bundleImpact',
  'listContracts',
  'getContract',
  'contractUsage',
] as const;

/**
 * Saves a composition, and refreshes all that follows from one.
 * @param onSuccess runs after every success, whatever page is open
 */
export const useUpdateComposition = (onSuccess?: (saved: Reply<'updateComposition'>) => void) =>
  useAction('updateComposition', touched, onSuccess);
