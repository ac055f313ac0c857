// The document of an environment's tool definitions: modes, sequence, rulings and room. It decides by compare-and-set,
// so that a sequence names one state. Texts and agents are rows beside it (tools.ts).
import type { PinMode } from 'reeve-agent/rules';
import type { Env } from '../../src/shared/ids.ts';
import {
  defaultPinMode,
  type ServerPins,
  type ToolEntry,
  type ToolRoom,
  type ToolServer,
} from '../../src/tool/record.ts';
import type { ObservationPlan, ObservationState } from '../../src/tool/rules/observation.ts';
import { fieldOf } from './form.ts';
import type { VersionedDocument } from './versioned-document.ts';

export type StoredEntry = Omit<ToolEntry, 'lastSeenAt'> & { readonly isAnnounced: boolean };

export interface ToolDocument extends VersionedDocument {
  readonly tenantId: string;
  readonly env: Env;
  readonly mode: PinMode;
  readonly sequence: number;
  /** By `fieldOf` the label. A server without a label in it was never noted. */
  readonly servers?: { readonly [field: string]: Partial<ToolServer> };
  /** By `fieldOf` the server's label, then by `entryField`. */
  readonly tools?: { readonly [server: string]: { readonly [id: string]: StoredEntry } };
}

export const documentId = (tenantId: string, env: Env): string => `${tenantId}/${env}`;
export const entryField = (id: string): string => `k${id}`;
export const entryPath = ({ server, id }: Pick<ToolEntry, 'server' | 'id'>): string =>
  `tools.${fieldOf(server)}.${entryField(id)}`;
export const serverPath = (server: string): string => `servers.${fieldOf(server)}`;

export const newToolDocument = (tenantId: string, env: Env): ToolDocument => ({
  _id: documentId(tenantId, env),
  revision: 1,
  tenantId,
  env,
  mode: defaultPinMode,
  sequence: 0,
});

/** The fields that `pinsIn` and `entriesIn` of one server need. */
export const serverFields = (server: string): readonly string[] => [
  'mode',
  'sequence',
  serverPath(server),
  `tools.${fieldOf(server)}`,
];

export const ownModeIn = (document: ToolDocument | null, server: string): PinMode | null =>
  document?.servers?.[fieldOf(server)]?.ownMode ?? null;

export const modeIn = (document: ToolDocument | null, server: string): PinMode =>
  ownModeIn(document, server) ?? document?.mode ?? defaultPinMode;

/** @param server null: of all servers */
export function entriesIn(document: ToolDocument | null, server: string | null): readonly StoredEntry[] {
  const tools = document?.tools ?? {};
  const maps = server === null ? Object.values(tools) : [tools[fieldOf(server)] ?? {}];
  return maps.flatMap((entries) => Object.values(entries));
}

const compare = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);

export const byTool = (
  a: Pick<ToolEntry, 'server' | 'tool' | 'firstSeenAt' | 'id'>,
  b: Pick<ToolEntry, 'server' | 'tool' | 'firstSeenAt' | 'id'>,
): number =>
  compare(a.server, b.server) ||
  compare(a.tool, b.tool) ||
  compare(a.firstSeenAt, b.firstSeenAt) ||
  compare(a.id, b.id);

export function pinsIn(document: ToolDocument | null, server: string): ServerPins {
  const pins = [...entriesIn(document, server)]
    .sort(byTool)
    .flatMap(({ tool, fingerprint, ruling }) =>
      ruling === null ? [] : [{ tool, fingerprint, decision: ruling.decision }],
    );
  return { mode: modeIn(document, server), sequence: document?.sequence ?? 0, pins };
}

const roomOf = (entries: readonly StoredEntry[]): ToolRoom => ({
  definitions: entries.length,
  bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
});

/** @param document whole @param without ids that make room */
export function observationState(
  document: ToolDocument | null,
  server: string,
  keyId: string,
  without: ReadonlySet<string>,
): ObservationState {
  const all = entriesIn(document, null).filter(({ id }) => !without.has(id));
  return {
    mode: modeIn(document, server),
    sequence: document?.sequence ?? 0,
    entries: new Map(all.filter((entry) => entry.server === server).map((entry) => [entry.id, entry])),
    used: { environment: roomOf(all), key: roomOf(all.filter((entry) => entry.keyId === keyId)) },
  };
}

/** The plan as fields of the document, by path. */
export function planFields(
  document: ToolDocument,
  server: string,
  { added, completed, sequence }: ObservationPlan,
): { readonly [path: string]: unknown } {
  const entries = document.tools?.[fieldOf(server)] ?? {};
  const fields: { [path: string]: unknown } = {};
  for (const { lastSeenAt: _lastSeenAt, ...entry } of added) fields[entryPath(entry)] = entry;
  for (const [id, bytes] of completed) {
    if (entries[entryField(id)]) fields[`${entryPath({ server, id })}.bytes`] = bytes;
  }
  if (sequence !== document.sequence) fields.sequence = sequence;
  return fields;
}

/** The servers that an agent showed, or that have a mode or a ruling, by label. */
export function serversIn(document: ToolDocument | null): readonly ToolServer[] {
  return Object.values(document?.servers ?? {})
    .flatMap(({ server, ownMode = null, info = null, refused = [], agentId = null, lastSeenAt = null }) =>
      server === undefined ? [] : [{ server, ownMode, info, refused, agentId, lastSeenAt }],
    )
    .sort((a, b) => compare(a.server, b.server));
}
