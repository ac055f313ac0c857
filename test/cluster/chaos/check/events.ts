// Judges ingest: what was acknowledged is there once, what was never sent is not there. Pure.
import type { Call } from '../history.ts';
import type { IngestInput } from '../load.ts';

export interface EventsFound {
  readonly acknowledged: number;
  /** Sent, but never acknowledged: may be there. */
  readonly unknown: number;
  readonly found: number;
  readonly violations: readonly string[];
}

interface Output {
  readonly accepted: number;
  readonly duplicates: number;
}

/** @param found the call id of every stored event, as often as it is stored */
export function checkEvents(
  calls: readonly Call<IngestInput, unknown>[],
  found: readonly string[],
): EventsFound {
  const acknowledged = new Set<string>();
  const perhaps = new Set<string>();
  const sent = new Map<string, number>();
  const violations: string[] = [];
  for (const { input, outcome } of calls) {
    if (outcome === 'failed') continue;
    for (const id of input.ids) {
      sent.set(id, (sent.get(id) ?? 0) + 1);
      if (outcome === 'ok') acknowledged.add(id);
      else perhaps.add(id);
    }
  }
  for (const { input, outcome, output } of calls) {
    if (outcome !== 'ok') continue;
    const { accepted, duplicates } = output as Output;
    if (accepted + duplicates !== input.ids.length) {
      violations.push(`a batch of ${input.ids.length} was answered ${accepted} + ${duplicates}`);
    }
    // A batch that was sent once and answered has nothing to be a duplicate of.
    if (duplicates > 0 && input.ids.every((id) => sent.get(id) === 1)) {
      violations.push(`${duplicates} duplicates in a batch that was sent once (${input.ids[0]})`);
    }
  }
  const times = new Map<string, number>();
  for (const id of found) times.set(id, (times.get(id) ?? 0) + 1);
  for (const id of acknowledged) if (!times.has(id)) violations.push(`acknowledged and missing: ${id}`);
  for (const [id, count] of times) {
    if (count > 1) violations.push(`stored ${count} times: ${id}`);
    if (!sent.has(id)) violations.push(`stored, but its sending failed for certain: ${id}`);
  }
  const unknown = [...perhaps].filter((id) => !acknowledged.has(id)).length;
  return { acknowledged: acknowledged.size, unknown, found: found.length, violations };
}
