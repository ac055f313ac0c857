// MessagePack from a client, within the bounds of JSON.
import { readMessagePack } from 'reeve-agent/rules';
import { HubError } from '../../domain/error.ts';
import { maxValues, measureJson } from '../../domain/json.ts';

/**
 * @throws HubError invalid_json for anything that JSON could not hold: binaries, extensions, keys that are no texts,
 *   NaN
 */
export function unpack(bytes: Uint8Array): unknown {
  const value = unpackLoosely(bytes);
  // A `__proto__` is refused here.
  measureJson(value);
  return value;
}

/**
 * The same without a look inside: texts and keys may be anything, numbers may be none.
 * @throws HubError invalid_json
 */
export function unpackLoosely(bytes: Uint8Array): unknown {
  try {
    return readMessagePack(bytes, { maxValues });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new HubError('invalid_json', `The message is not valid MessagePack: ${error.message}.`);
  }
}
