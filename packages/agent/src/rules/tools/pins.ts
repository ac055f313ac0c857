// Pin documents: the decisions about a server's tools in one environment, as the hub signs them and agents judge by
// them. Pure.
import { canonicalJson } from '../canonical-json.ts';
import { readStrictJson } from '../strict-json.ts';
import { isFingerprint, isToolName } from './definition.ts';

/**
 * `observe` records changes. `hold` pins the tools that a server lists first, and later definitions wait for a person.
 * `deny` permits only definitions that a person accepted.
 */
export const pinModes = ['observe', 'hold', 'deny'] as const;
export type PinMode = (typeof pinModes)[number];

export const pinDecisions = ['accepted', 'rejected'] as const;
export type PinDecision = (typeof pinDecisions)[number];

/** A decision about one definition. */
export interface ToolPin {
  /** A tool's name, or `instructionsEntry`. */
  readonly tool: string;
  readonly fingerprint: string;
  readonly decision: PinDecision;
}

export interface PinDocument {
  /** The hub's id of the tenant; null in a document that a person keeps without a hub. */
  readonly tenant: string | null;
  readonly env: string | null;
  /** The server's label. */
  readonly server: string;
  readonly mode: PinMode;
  /** Rises with every change of `mode` and `pins`. */
  readonly sequence: number;
  readonly pins: readonly ToolPin[];
}

/** As many as an environment has definitions. */
const maxPins = 10_000;
/** Characters of a document's text. */
const maxText = 16_777_216;

const byTool = (a: ToolPin, b: ToolPin): number =>
  a.tool < b.tool ? -1 : a.tool > b.tool ? 1 : a.fingerprint < b.fingerprint ? -1 : 1;

/** The document as canonical JSON, its pins by tool and fingerprint. */
export const pinText = ({ tenant, env, server, mode, sequence, pins }: PinDocument): string =>
  canonicalJson({
    tenant,
    env,
    server,
    mode,
    sequence,
    pins: [...pins].sort(byTool).map(({ tool, fingerprint, decision }) => ({ tool, fingerprint, decision })),
  });

/**
 * The text that the tenant's signing key signs (Ed25519 over its UTF-8 bytes).
 * @param document as `pinText` writes it
 */
export const signedPinText = (document: string): string => `reeve-tool-pins-v1\n${document}`;

/** The document of a text; null if the text is none. */
export function readPinDocument(text: string): PinDocument | null {
  if (text.length > maxText) return null;
  let value: { readonly [member: string]: unknown };
  try {
    const read = readStrictJson(text, { maxDepth: 4 });
    if (typeof read !== 'object' || read === null || Array.isArray(read)) return null;
    value = read as typeof value;
  } catch {
    return null;
  }
  const { tenant, env, server, mode, sequence, pins } = value;
  const isTextOrNull = (member: unknown): member is string | null =>
    member === null || typeof member === 'string';
  if (!isTextOrNull(tenant) || !isTextOrNull(env) || typeof server !== 'string') return null;
  if (!pinModes.some((one) => one === mode)) return null;
  if (!Number.isSafeInteger(sequence) || !Array.isArray(pins) || pins.length > maxPins) return null;
  if (!pins.every(isPin)) return null;
  return { tenant, env, server, mode: mode as PinMode, sequence: sequence as number, pins };
}

function isPin(value: unknown): value is ToolPin {
  const { tool, fingerprint, decision } = (value ?? {}) as { readonly [member: string]: unknown };
  return isToolName(tool) && isFingerprint(fingerprint) && pinDecisions.some((one) => one === decision);
}

/**
 * `allowed`: the tool is listed and its calls are judged. `waiting`: nobody has decided about the definition, and the
 * mode does not permit it. `rejected`: a person rejected the definition, which holds in every mode.
 */
export type ToolVerdict = 'allowed' | 'waiting' | 'rejected';

/** @param decision about this definition; null: none */
export function verdictOf(mode: PinMode, decision: PinDecision | null): ToolVerdict {
  if (decision === 'rejected') return 'rejected';
  return decision === 'accepted' || mode === 'observe' ? 'allowed' : 'waiting';
}
