// The signed bytes of a payload with a type (DSSE, version 1). The signature covers the type, so a signature of one
// kind of statement is never valid for another kind, nor for a document. Pure.

const utf8 = new TextEncoder();

/** The prefix of a payload with so many bytes. */
export const envelopeLead = (type: string, payloadBytes: number): Uint8Array =>
  utf8.encode(`DSSEv1 ${utf8.encode(type).length} ${type} ${payloadBytes} `);

/** `DSSEv1`, then type and payload with their lengths in bytes, separated by blanks. */
export function envelopeBytes(type: string, payload: Uint8Array): Uint8Array {
  const lead = envelopeLead(type, payload.length);
  const bytes = new Uint8Array(lead.length + payload.length);
  bytes.set(lead);
  bytes.set(payload, lead.length);
  return bytes;
}
