// Turns a batch into what the writer stores without parsing: JSON bytes and small summaries. Runs on the caller's
// thread.
import { hash } from 'node:crypto';
import type { FirstSeenAgent } from '../../../src/agent/port.ts';
import type { AuditNote } from '../../../src/audit/record.ts';
import type { EventBatch } from '../../../src/event/port.ts';
import { type EventInput, type EventOutcome, eventOutcomeOf, withSender } from '../../../src/event/record.ts';
import type { RunFacts } from '../../../src/run/record.ts';
import { type Reporter, reportFacts, runNote } from '../../../src/run/rules/report.ts';
import { factsBySession } from '../../../src/run/rules/run.ts';
import type { Env } from '../../../src/shared/ids.ts';
import { packJson, type StoredJson } from './body.ts';
import {
  type BodyForm,
  bodyText,
  segmentCharacters,
  segmentEvents,
  segmentSpanMs,
  summarize,
} from './segment.ts';

/** A UUID in lower case is kept as its 16 bytes, any other call id as text. */
export type CallKey = string | Uint8Array;

export type SessionFacts = readonly (readonly [session: string, facts: RunFacts])[];

/** `body` holds a JSON array of the events, UTF-8. */
export interface EncodedGroup extends StoredJson {
  readonly agent: string;
  readonly count: number;
  readonly minTs: number;
  readonly maxTs: number;
  readonly tallies: string;
  readonly names: string;
  /** Distinct policy versions, as JSON. */
  readonly versions: string;
  /** Which tally and version each event is counted in, and its time (segment.ts). */
  readonly marks: Uint8Array;
  /** Places in the batch, as JSON; null when the batch is one group. */
  readonly places: string | null;
  /** All call ids as bytes, 16 each, when all are UUIDs; else one key each. */
  readonly calls: Uint8Array | readonly CallKey[];
  /** The code of each event's verdict (verdictCode). */
  readonly verdicts: Uint8Array;
  /** Facts about the events' sessions; places in the order of arrival count from the first of the group. */
  readonly runs: SessionFacts;
  /** Decisions of runs among them, for the audit chain. */
  readonly notes: readonly (readonly [position: number, note: AuditNote])[];
  readonly form: BodyForm;
  /** Of form `sent`: the agent of the request, where some events are of others. */
  readonly sender: string | null;
}

export interface EncodedBatch {
  readonly tenantId: string;
  readonly env: Env;
  readonly receivedAt: number;
  readonly sample: boolean;
  readonly reporter?: Reporter;
  readonly isImported?: true;
  readonly events: number;
  /** Of their JSON. */
  readonly bytes: number;
  /** No call id stands in two of them, nor twice in one. */
  readonly groups: readonly EncodedGroup[];
  /** Agents to note as seen. */
  readonly agents: readonly FirstSeenAgent[];
  /** Events whose call id stood earlier in the batch. */
  readonly repeats: readonly { readonly call: CallKey; readonly report: Report }[];
}

/** Content of a repeat, for its event, its run and the audit chain. */
export interface Report {
  readonly outcome: EventOutcome;
  readonly agent: string;
  readonly run: SessionFacts[number] | null;
  readonly note: AuditNote | null;
}

export const sha256 = (text: string): string => hash('sha256', text, 'hex');

export type BatchOf = Pick<
  EncodedBatch,
  'tenantId' | 'env' | 'receivedAt' | 'sample' | 'reporter' | 'isImported'
>;

/** The sample run is nobody's decision. */
const hasNotes = ({ sample, isImported }: BatchOf): boolean => !sample && !isImported;

/** @param event a repeat of one that is stored, or stood earlier in the batch */
export const reportOf = (event: EventInput, batch: BatchOf): Report => ({
  outcome: eventOutcomeOf(event),
  agent: event.agentId,
  run: reportFacts(event, batch),
  note: hasNotes(batch) ? runNote(event, batch, sha256) : null,
});

function notesOf(events: readonly EventInput[], batch: BatchOf): EncodedGroup['notes'] {
  if (!hasNotes(batch)) return [];
  const notes: EncodedGroup['notes'][number][] = [];
  for (const [position, event] of events.entries()) {
    const note = runNote(event, batch, sha256);
    if (note) notes.push([position, note]);
  }
  return notes;
}

// Positions in this list are stored: append only, 31 at most.
const commonVerdicts = [
  'call_allowed',
  'call_denied',
  'call_would_deny',
  'call_executed',
  'call_failed',
  'call_approval_requested',
  'call_approval_granted',
  'call_approval_denied',
  'call_approval_timeout',
  'allowed',
  'allow',
  'executed',
  'denied',
  'deny',
  'would_deny',
  'pending',
  'pending_approval',
  'call_blocked',
  'call_would_block',
  'call_asked',
];

const codes = new Map(commonVerdicts.map((verdict, i) => [verdict, i + 1]));

/** The code of a common verdict, below 32; 0 for one that only the body contains. */
export const verdictCode = (verdict: string): number => codes.get(verdict) ?? 0;
export const verdictOfCode = (code: number): string | null => commonVerdicts[code - 1] ?? null;

/** `Uint8Array.from` with a function takes ten times as long. */
function verdictCodes(events: readonly EventInput[]): Uint8Array {
  const bytes = new Uint8Array(events.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = verdictCode(events[i]?.verdict ?? '');
  return bytes;
}

const uuidLength = 36;
/** Places of the dashes in a UUID. */
const dashes: readonly number[] = [8, 13, 18, 23];
/** By character, the value of a lower-case hex digit; 255 for any other. */
const hexDigits = new Uint8Array(128).fill(255);
for (let value = 0; value < 16; value++) hexDigits[value.toString(16).charCodeAt(0)] = value;

/** Writes the 16 bytes of a UUID in lower case; false, with some of them written, for any other text. */
function packInto(target: Uint8Array, offset: number, id: string): boolean {
  if (id.length !== uuidLength) return false;
  for (const at of dashes) if (id.charCodeAt(at) !== 0x2d) return false;
  let to = offset;
  for (let at = 0; at < uuidLength; at += 2) {
    if (at === 8 || at === 13 || at === 18 || at === 23) at++;
    const high = hexDigits[id.charCodeAt(at)] ?? 255;
    const low = hexDigits[id.charCodeAt(at + 1)] ?? 255;
    if ((high | low) > 15) return false;
    target[to++] = high * 16 + low;
  }
  return true;
}

/** The key a call id is stored under. */
export function callKey(callId: string): CallKey {
  const bytes = Buffer.alloc(16);
  return packInto(bytes, 0, callId) ? bytes : callId;
}

function callKeys(events: readonly EventInput[]): Uint8Array | readonly CallKey[] {
  const packed = Buffer.alloc(events.length * 16);
  for (const [i, event] of events.entries())
    if (!packInto(packed, i * 16, event.callId)) return events.map((e) => callKey(e.callId));
  return packed;
}

/** Events of one agent and hour, and their places in the batch. */
interface Group {
  readonly events: EventInput[];
  readonly places: number[];
}

const encoder = new TextEncoder();

/** Facts from the events of one agent about their sessions. */
export const sessionFacts = (
  events: readonly (EventInput | null)[],
  batch: Pick<EncodedBatch, 'env' | 'receivedAt'>,
): SessionFacts => [...factsBySession(events, batch, (seq) => ({ seq }))];

/** Groups by agent and hour, in order of first appearance; a group that is full gives way to a new one. */
function grouped(events: readonly EventInput[]): { groups: Group[]; repeats: EventInput[] } {
  const groups: Group[] = [];
  const open = new Map<string, Group>();
  const uniqueNames = new Set<string>();
  const repeats: EventInput[] = [];
  let [key, agent, hour] = ['', '', Number.NaN];
  for (const [place, event] of events.entries()) {
    if (uniqueNames.has(event.callId)) {
      repeats.push(event);
      continue;
    }
    uniqueNames.add(event.callId);
    const eventHour = Math.floor(event.timestamp / segmentSpanMs);
    if (eventHour !== hour || event.agentId !== agent) {
      [agent, hour] = [event.agentId, eventHour];
      key = `${hour} ${agent}`;
    }
    let group = open.get(key);
    if (!group || group.events.length >= segmentEvents) {
      group = { events: [], places: [] };
      groups.push(group);
      open.set(key, group);
    }
    group.events.push(event);
    group.places.push(place);
  }
  return { groups, repeats };
}

/** A group with its JSON. */
type WrittenGroup = Group & StoredJson & Pick<EncodedGroup, 'form' | 'sender'>;

/** The group with its JSON, or its halves and their halves when it has too many characters. */
function sized({ events, places }: Group, sender: string | undefined): WrittenGroup[] {
  const text = bodyText(events.map((event) => withSender(event, sender)));
  const half = events.length >> 1;
  if (text.length <= segmentCharacters || half === 0)
    return [{ events, places, ...packJson(encoder.encode(text)), form: 'written', sender: null }];
  return [
    ...sized({ events: events.slice(0, half), places: places.slice(0, half) }, sender),
    ...sized({ events: events.slice(half), places: places.slice(half) }, sender),
  ];
}

/** The groups with their JSON; a batch that is one segment keeps the bytes that were sent. */
function written(groups: readonly Group[], { sent, sender, events: { length } }: EventBatch): WrittenGroup[] {
  const [only] = groups;
  if (sent && only?.events.length === length && sent.byteLength <= segmentCharacters)
    return [{ ...only, ...packJson(sent), form: 'sent', sender: sender ?? null }];
  return groups.flatMap((group) => sized(group, sender));
}

function encodeGroup(
  { events, places, body, isPacked, jsonBytes, form, sender }: WrittenGroup,
  batch: BatchOf,
  isAlone: boolean,
): EncodedGroup {
  const { count, minTs, maxTs, tallies, names, versions, marks } = summarize(events);
  return {
    count,
    minTs,
    maxTs,
    tallies,
    names,
    versions,
    marks,
    agent: events[0]?.agentId ?? '',
    places: isAlone ? null : JSON.stringify(places),
    calls: callKeys(events),
    verdicts: verdictCodes(events),
    runs: sessionFacts(events, batch),
    notes: notesOf(events, batch),
    body,
    isPacked,
    jsonBytes,
    form,
    sender,
  };
}

export function encodeBatch(eventBatch: EventBatch): EncodedBatch {
  const { events, sender, reporter, isImported } = eventBatch;
  const batch = {
    tenantId: eventBatch.tenantId,
    env: eventBatch.env,
    receivedAt: eventBatch.receivedAt,
    agents: eventBatch.agents ?? [],
    sample: eventBatch.sample === true,
    ...(reporter ? { reporter } : {}),
    ...(isImported ? { isImported } : {}),
  };
  const { groups, repeats } = grouped(events);
  const parts = written(groups, eventBatch);
  const alone = parts.length === 1 && repeats.length === 0;
  const encoded = parts.map((part) => encodeGroup(part, batch, alone));
  return {
    ...batch,
    events: events.length,
    bytes: encoded.reduce((sum, { jsonBytes }) => sum + jsonBytes, 0),
    groups: encoded,
    repeats: repeats.map((event) => ({
      call: callKey(event.callId),
      report: reportOf(withSender(event, sender), batch),
    })),
  };
}

/** The buffers that go to another thread without a copy. */
export const buffersOf = (batch: EncodedBatch): ArrayBuffer[] =>
  batch.groups.map((group) => group.body.buffer);
