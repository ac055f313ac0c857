// Pins without a hub: a file that a person keeps, with the definitions that the person accepted.
import { readFile } from 'node:fs/promises';
import { writeWhole } from '../files.ts';
import { isFingerprint } from '../rules/tools/definition.ts';
import { pinDecisions, type ToolPin } from '../rules/tools/pins.ts';

/** Pins by the server's label. */
export type LocalPins = { readonly [server: string]: readonly ToolPin[] };

const isPin = (value: unknown): value is ToolPin => {
  const { tool, fingerprint, decision } = (value ?? {}) as { readonly [name: string]: unknown };
  return (
    typeof tool === 'string' && isFingerprint(fingerprint) && pinDecisions.some((one) => one === decision)
  );
};

/** @returns no pins if there is no such file @throws Error for a file that has another format */
export async function readLocalPins(path: string): Promise<LocalPins> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw failure;
  }
  const wrong = new Error(
    `${path} is no file of tool pins. Correct it, or write a new one with reeve-agent pins accept.`,
  );
  let record: { readonly format?: unknown; readonly servers?: unknown };
  try {
    record = JSON.parse(text);
  } catch {
    throw wrong;
  }
  const { format, servers } = record ?? {};
  if (format !== 1 || typeof servers !== 'object' || servers === null) throw wrong;
  const entries = Object.entries(servers);
  if (!entries.every(([, pins]) => Array.isArray(pins) && pins.every(isPin))) throw wrong;
  return Object.fromEntries(entries) as LocalPins;
}

/** Adds accepted fingerprints of a server. A repeat changes nothing. */
export async function acceptLocally(
  path: string,
  server: string,
  tools: readonly Pick<ToolPin, 'tool' | 'fingerprint'>[],
): Promise<void> {
  const pins = await readLocalPins(path);
  const accepted = new Set(tools.map(({ tool, fingerprint }) => JSON.stringify([tool, fingerprint])));
  const kept = (Object.hasOwn(pins, server) ? (pins[server] ?? []) : []).filter(
    ({ tool, fingerprint }) => !accepted.has(JSON.stringify([tool, fingerprint])),
  );
  const added = tools.map(({ tool, fingerprint }) => ({ tool, fingerprint, decision: 'accepted' as const }));
  const servers = { ...pins, [server]: [...kept, ...added] };
  await writeWhole(path, `${JSON.stringify({ format: 1, servers }, null, 2)}\n`);
}
