// The check of an event batch: bytes or a parsed value in, domain events out. Compiled once from the declaration of src/api/events.ts,
// because the declaration itself is twenty times slower to run. Stores nothing.
import { Ajv } from 'ajv';
import { z } from 'zod';
import { eventBatch } from '../../api/events.ts';
import type { HubError, Problem } from '../../domain/error.ts';
import type { AgentManifest, EventInput } from '../../domain/event.ts';
import { parseInstant } from '../../domain/instant.ts';
import { measureJson, parseJson } from '../../domain/json.ts';
import { problemsOf, validationFailed } from './problems.ts';

type BatchInput = z.input<typeof eventBatch>;

export interface Batch {
  events: readonly EventInput[];
  readonly manifest: AgentManifest | null;
}

/** Bytes of a serialized payload. */
export const maxPayload = 65_536;

// `unicode: false` counts UTF-16 units as zod does; deprecated, not to be removed in this major version.
const ajv = new Ajv({ unicode: false, logger: false });
const fits = ajv.compile<BatchInput>(z.toJSONSchema(eventBatch, { io: 'input', target: 'draft-7' }));

/** @throws HubError invalid_json, validation_failed */
export function readBatch(bytes: Uint8Array): Batch {
  const { value, suspect } = parseJson(bytes);
  return checkBatch(value, suspect);
}

/**
 * The events of a parsed batch.
 * @param suspect whether its texts may hold half of a surrogate pair (domain/json)
 * @throws HubError invalid_json, validation_failed
 */
export function checkBatch(value: unknown, suspect = true): Batch {
  const size = measureJson(value, suspect);
  takeNewerWords(value);
  if (!fits(value)) throw refused(value);
  const problems: Problem[] = [];
  const events: EventInput[] = [];
  for (const [i, event] of value.events.entries()) {
    const timestamp = parseInstant(event.timestamp);
    const payload = event.payload ?? null;
    if (timestamp === null) problems.push(problem(['events', i, 'timestamp'], 'must be an ISO 8601 time'));
    if (payload !== null && size * 6 > maxPayload && isTooLarge(payload)) {
      problems.push(problem(['events', i, 'payload'], `must serialize to at most ${maxPayload} bytes`));
    }
    const { call_id, agent_id, tool_name, verdict, mode } = event;
    events.push({ call_id, agent_id, tool_name, verdict, mode, timestamp: timestamp ?? 0, payload });
  }
  const manifest = manifestOf(value);
  if (manifest && events.some(({ agent_id }) => agent_id !== manifest.agent_id)) {
    problems.push(problem(['agent_manifest', 'agent_id'], "must be the events' agent_id"));
  }
  if (problems.length > 0) throw validationFailed(problems);
  return { events, manifest };
}

/** Newer clients call an event's verdict `decision`: it counts where there is no verdict. */
function takeNewerWords(value: unknown): void {
  const events = isObject(value) ? value.events : null;
  if (!Array.isArray(events)) return;
  for (const event of events) {
    if (isObject(event) && event.verdict === undefined && event.decision !== undefined) {
      event.verdict = event.decision;
    }
  }
}

const isObject = (value: unknown): value is { [name: string]: unknown } =>
  typeof value === 'object' && value !== null;

const isTooLarge = (payload: object): boolean =>
  measureJson(payload, false) * 6 > maxPayload && Buffer.byteLength(JSON.stringify(payload)) > maxPayload;

function manifestOf({ agent_manifest: manifest }: BatchInput): AgentManifest | null {
  if (!manifest) return null;
  const { agent_id, policy_version } = manifest;
  const contracts = manifest.contracts.map(({ id, type, tool, mode }) => ({
    id,
    type,
    tool: tool ?? [],
    mode,
  }));
  return { agent_id, policy_version, contracts };
}

const problem = (path: readonly (string | number)[], msg: string): Problem => ({
  loc: ['body', ...path],
  msg,
});

/** A refused batch is read again by the declaration, for the same words as on every other route. */
function refused(value: unknown): HubError {
  const { error } = eventBatch.safeParse(value);
  if (error) return validationFailed(problemsOf(error, 'body'));
  const compiled = fits.errors ?? [];
  return validationFailed(
    compiled.map(({ instancePath, message }) =>
      problem(instancePath.split('/').slice(1), message ?? 'does not fit'),
    ),
  );
}
