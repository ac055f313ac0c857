// Saved cases of the playground, in this browser.
import { ownKey, readStored, writeStored } from '../../lib/prefs.ts';
import type { Kept } from './call.ts';

export function readKept(): readonly Kept[] {
  try {
    const stored: unknown = JSON.parse(readStored(ownKey('cases')) ?? '[]');
    const isKept = (one: Partial<Kept> | null): boolean =>
      typeof one?.name === 'string' && typeof one.call?.tool === 'string' && one.expect !== undefined;
    return Array.isArray(stored) ? stored.filter(isKept) : [];
  } catch {
    return [];
  }
}

export const writeKept = (cases: readonly Kept[]): void =>
  writeStored(ownKey('cases'), JSON.stringify(cases));
