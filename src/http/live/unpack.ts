// MessagePack from a client, within the bounds of JSON.

import { readMessagePack } from 'reeve-agent/rules';
import { HubError } from '../../domain/error.ts';
import { maxValues, measureJson } from '../../domain/json.ts';

/** @throws HubError invalid_json for anything that JSON could not hold: binaries, extensions, keys that are no texts, NaN */
export function unpack(bytes: Uint8Array): unknown {
  let value: unknown;
  try {
    value = readMessagePack(bytes, { maxValues });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new HubError('invalid_json', `The message is not valid MessagePack: ${error.message}.`);
  }
  // A `__proto__` is refused here.
  measureJson(value);
  return value;
}
