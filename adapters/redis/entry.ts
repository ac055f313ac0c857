// Format of a log's entry: a MessagePack array of a frame's type, its data as JSON text, its agent and its bundle.
// Further fields follow, as far as one of them is set. The first are the assigned bundle (false: none), the environment
// whose fleet the frame is about, and true for a change of tool pins. Then come the environments of which a reader
// needs a role in one, the time of acceptance, the trace, and a stream's part. The last is true for a frame of any
// assignment. This file passes the JSON on as bytes, unread. Nodes of neighbouring protocols run side by side, as long
// as nothing but the end of the array changes.
import { Decoder, Encoder } from '@msgpack/msgpack';
import { type Audience, type Control, type Frame, frameParts } from '../../src/shared/frame.ts';
import { isEnv } from '../../src/shared/ids.ts';

const controlType = 'control';
/** MessagePack's marks of an array of up to 15 items, and of a text whose length takes four bytes. */
const shortArray = 0x90;
const longText = 0xdb;

/** One of each for all entries: making one costs more than what it does here. */
const encoder = new Encoder();
const decoder = new Decoder();
const encode = (value: string | null | boolean | number | readonly string[]): Uint8Array =>
  encoder.encode(value);

type Written = Pick<
  Frame,
  | 'type'
  | 'json'
  | 'agent'
  | 'bundle'
  | 'assigned'
  | 'fleet'
  | 'tools'
  | 'envs'
  | 'acceptedAt'
  | 'trace'
  | 'part'
  | 'anyAssignment'
>;

/** No agent has this id: a change of tool pins, or a part, is not handed out by agent. */
const nobody = '';

/** The items behind the bundle, without those at the end that are not set. */
function optionalItems(frame: Written): readonly Uint8Array[] {
  const { assigned, fleet, tools, envs, acceptedAt, trace, part, anyAssignment } = frame;
  const assignment = assigned === undefined ? false : assigned;
  const others = [fleet, tools, envs, acceptedAt, trace, part, anyAssignment];
  const items = [assignment, ...others.map((item) => item ?? null)];
  const isSet = [assigned, ...others].map((item) => item !== undefined);
  return items.slice(0, isSet.lastIndexOf(true) + 1).map(encode);
}

export function writeFrame(frame: Written): Buffer {
  const { type, json, agent, bundle, tools, part } = frame;
  const length = Buffer.alloc(5);
  length[0] = longText;
  length.writeUInt32BE(json.length, 1);
  const rest = optionalItems(frame);
  const items = [
    encode(type),
    encode(tools || part ? nobody : (agent ?? null)),
    encode(bundle ?? null),
  ] as const;
  return Buffer.concat([
    Buffer.of(shortArray | (4 + rest.length)),
    items[0],
    length,
    json,
    items[1],
    items[2],
    ...rest,
  ]);
}

export const writeControl = (message: Control): Buffer =>
  writeFrame({ type: controlType, json: Buffer.from(JSON.stringify(message)) });

/** Null for an entry that this version cannot read. */
export function readFrame(audience: Audience, entry: Buffer): Frame | null {
  try {
    const { type, json, rest } = split(entry);
    const [agent, bundle, assigned, fleet, tools, envs, acceptedAt, trace, part, anyAssignment] = rest;
    const inEnvs = Array.isArray(envs) ? { envs: envs.filter(isEnv) } : {};
    if (tools === true) return { audience, type, json, tools, ...inEnvs };
    const framePart = frameParts.find((one) => one === part);
    if (framePart) return { audience, type, json, part: framePart, ...inEnvs };
    return {
      audience,
      type,
      json,
      ...(typeof agent === 'string' ? { agent } : {}),
      ...(typeof bundle === 'string' ? { bundle } : {}),
      ...assignedIn(rest.length > 2 ? assigned : false),
      ...(isEnv(fleet) ? { fleet } : {}),
      ...inEnvs,
      ...(typeof acceptedAt === 'number' ? { acceptedAt } : {}),
      ...(typeof trace === 'string' ? { trace } : {}),
      ...(anyAssignment === true ? { anyAssignment } : {}),
    };
  } catch {
    return null;
  }
}

/** Null for anything but a control message. */
export function readControl(entry: Buffer): Control | null {
  try {
    const { type, json } = split(entry);
    return type === controlType ? JSON.parse(json.toString()) : null;
  } catch {
    return null;
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const assignedIn = (value: unknown): Pick<Frame, 'assigned'> =>
  value === false ? {} : { assigned: textOrNull(value) };

/** @throws RangeError or Error for bytes that are no such array */
function split(entry: Buffer): { readonly type: string; readonly json: Buffer; readonly rest: unknown[] } {
  const type = textAt(entry, 1);
  const json = textAt(entry, type.end);
  const name = decoder.decode(entry.subarray(1, type.end));
  if (typeof name !== 'string') throw new RangeError('The type is not a string.');
  return {
    type: name,
    json: entry.subarray(json.start, json.end),
    rest: [...decoder.decodeMulti(entry.subarray(json.end))],
  };
}

/** Where the bytes of a MessagePack text begin and end. @throws RangeError */
function textAt(entry: Buffer, at: number): { readonly start: number; readonly end: number } {
  const mark = entry.readUInt8(at);
  let start = at + 1;
  let length: number;
  if (mark >= 0xa0 && mark <= 0xbf) length = mark & 0x1f;
  else if (mark >= 0xd9 && mark <= longText) {
    const width = 2 ** (mark - 0xd9);
    length = entry.readUIntBE(start, width);
    start += width;
  } else throw new RangeError('Not a text.');
  if (start + length > entry.length) throw new RangeError('A text is cut off.');
  return { start, end: start + length };
}
