// The changes that an observation makes. Pure: both stores plan by this and write the plan in one step.
import type { PinMode } from 'reeve-agent/rules';
import type { PinRuling, Rooms, ToolEntry, ToolObservation, ToolRoom } from '../record.ts';
import { isNoteworthy, nextPinSequence, rulingOfNew } from './pinning.ts';

/** The part of an environment's state that an observation of one server depends on. */
export interface ObservationState {
  /** In force for the server. */
  readonly mode: PinMode;
  readonly sequence: number;
  /** The server's entries, by id. */
  readonly entries: ReadonlyMap<string, Pick<ToolEntry, 'tool' | 'bytes' | 'keyId' | 'ruling'>>;
  /** Used by the environment, and by the API key in it. */
  readonly used: { readonly environment: ToolRoom; readonly key: ToolRoom };
}

export interface ObservationPlan {
  /** Entries to add; those with a text have its bytes. */
  readonly added: readonly (ToolEntry & { readonly isAnnounced: boolean })[];
  /** Ids of stored entries that get their text, with its bytes. */
  readonly completed: ReadonlyMap<string, number>;
  readonly lacking: readonly string[];
  readonly withoutRoom: readonly string[];
  /** Rises if a ruling was made. */
  readonly sequence: number;
}

/** Counts what is left while a plan grows. */
class RoomCounter {
  #definitions: number;
  #bytes: number;
  #keyDefinitions: number;
  #keyBytes: number;

  constructor({ environment, key }: ObservationState['used'], rooms: Rooms) {
    this.#definitions = rooms.environment.definitions - environment.definitions;
    this.#bytes = rooms.environment.bytes - environment.bytes;
    this.#keyDefinitions = rooms.key.definitions - key.definitions;
    this.#keyBytes = rooms.key.bytes - key.bytes;
  }

  takeDefinition(): boolean {
    if (this.#definitions < 1 || this.#keyDefinitions < 1) return false;
    this.#definitions--;
    this.#keyDefinitions--;
    return true;
  }

  /** @param isOwn false if another key reported the definition first: its share has the bytes */
  takeBytes(bytes: number, isOwn: boolean): boolean {
    if (this.#bytes < bytes || (isOwn && this.#keyBytes < bytes)) return false;
    this.#bytes -= bytes;
    if (isOwn) this.#keyBytes -= bytes;
    return true;
  }
}

export function planObservation(
  state: ObservationState,
  observation: ToolObservation,
  rooms: Rooms,
): ObservationPlan {
  const { mode, entries } = state;
  const { tenantId, env, server, keyId, at } = observation;
  const room = new RoomCounter(state.used, rooms);
  const knownTools = new Set([...entries.values()].map(({ tool }) => tool));
  const added: (ToolEntry & { readonly isAnnounced: boolean })[] = [];
  const completed = new Map<string, number>();
  const lacking: string[] = [];
  const withoutRoom: string[] = [];
  for (const { id, tool, fingerprint, definition, bytes } of observation.tools) {
    const entry = entries.get(id);
    if (entry && entry.bytes > 0) continue;
    if (!entry && !room.takeDefinition()) {
      withoutRoom.push(id);
      continue;
    }
    const fits = definition === null || room.takeBytes(bytes, !entry || entry.keyId === keyId);
    if (!fits) withoutRoom.push(id);
    else if (definition === null) lacking.push(id);
    const stored = fits ? bytes : 0;
    if (entry) {
      if (stored > 0) completed.set(id, stored);
      continue;
    }
    const ruling: PinRuling | null = rulingOfNew(mode, entries.size > 0, at);
    const isChange = knownTools.has(tool);
    added.push({
      ...{ id, tenantId, env, server, tool, fingerprint, bytes: stored, keyId, isChange, ruling },
      firstSeenAt: at,
      lastSeenAt: at,
      isAnnounced: !isNoteworthy({ isChange, ruling }, mode),
    });
  }
  const isRuled = added.some(({ ruling }) => ruling !== null);
  const sequence = isRuled ? nextPinSequence(state.sequence, at) : state.sequence;
  return { added, completed, lacking, withoutRoom, sequence };
}
