// MessagePack from a client, within the bounds of JSON.
import { readMessagePack } from 'reeve-agent/rules';
import { HubError } from '../../shared/error.ts';
import { losesDigits } from '../../shared/json/exact-numbers.ts';
import { type LooseJson, maxValues, measureJson } from '../../shared/json/json.ts';

/**
 * @throws HubError invalid_json for anything that JSON could not hold: binaries, extensions, keys that are no texts,
 *   NaN
 */
export function unpack(bytes: Uint8Array): unknown {
  const { value } = unpackLoosely(bytes);
  // A `__proto__` is refused here.
  measureJson(value);
  return value;
}

/**
 * The same without a look inside: texts and keys may be anything, numbers may be none. Whole numbers that a double
 * cannot hold come as texts of their digits.
 * @throws HubError invalid_json
 */
export function unpackLoosely(bytes: Uint8Array): LooseJson {
  let isRounded = false;
  const large = (whole: bigint): unknown => {
    const digits = String(whole);
    if (!losesDigits(digits)) return Number(whole);
    isRounded = true;
    return digits;
  };
  try {
    const value = readMessagePack(bytes, { maxValues, large });
    return { value, rounded: isRounded ? readMessagePack(bytes, { maxValues }) : undefined };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new HubError('invalid_json', `The message is not valid MessagePack: ${error.message}.`);
  }
}
