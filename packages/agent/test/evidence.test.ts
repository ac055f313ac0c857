// `reeve-agent verify` reads a file in one way or not at all: doubled and further members, changed numbers and bytes.
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyCommand } from '../src/cli/verify.ts';
import { envelopeBytes, textBytes } from '../src/evidence/signed.ts';
import { canonicalJson } from '../src/rules/canonical-json.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const signed = (type: string, text: string) =>
  sign(null, envelopeBytes(type, textBytes(text)), privateKey).toString('base64');

/** A chain of one link with this entry, and its signed head, as the hub exports them. */
function chainOf(entry: string): { readonly link: string; readonly head: string } {
  const digest = sha256(`{"entry":${entry},"prev":"","seq":1}`);
  const head = `{"digest":"${digest}","key_id":"k","seq":1,"signed_at":"2026-01-01T00:00:00.000Z","tenant_id":"t"}`;
  const sig = signed('application/vnd.service.audit-head+json', `{"head":${head}}`);
  return {
    link: `{"digest":"${digest}","entry":${entry},"prev":"","seq":1}`,
    head: `{"head":${head},"sig":"${sig}"}`,
  };
}

function bundleOf(more: { readonly [member: string]: unknown } = {}): string {
  const content = { id: 'e1', prev: '', tool_args: { n: 1 } };
  const digest = sha256(canonicalJson(content));
  const payload = JSON.stringify({
    schema: 'service.decision-bundle/v1',
    agent_id: 'a',
    session_id: 's',
    event_count: 1,
    chain_head: digest,
    events: [{ ...content, digest }],
    ...more,
  });
  return envelopeOf(payload);
}
const envelopeOf = (payload: string): string =>
  JSON.stringify({
    schema: 'service.decision-bundle-envelope/v1',
    payload: Buffer.from(payload).toString('base64'),
    signatures: [
      { alg: 'Ed25519', key_id: 'k', sig: signed('application/vnd.service.decision-bundle+json', payload) },
    ],
  });

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-verify-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function verify(content: string | Uint8Array): Promise<{ ok: boolean; message: string }> {
  const file = join(folder, 'file');
  await writeFile(file, content);
  let out = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  try {
    await verifyCommand.run(['--json', '--key', key, file]);
  } finally {
    write.mockRestore();
  }
  const outcomes = JSON.parse(out) as { ok: boolean; message: string }[];
  return outcomes.at(-1) ?? { ok: false, message: 'nothing was found out' };
}

const entry =
  '{"action_type":"key.created","details":{"n":12345678901234567890,"r":1.50},"summary":"a\u2028b"}';

describe('an export of the audit chain', () => {
  it('is whole as it was written, numbers and all', async () => {
    const { link, head } = chainOf(entry);
    expect(await verify(`${link}\n${head}\n`)).toMatchObject({ ok: true });
    expect(await verify(`${link}\r\n\n${head}`)).toMatchObject({ ok: true });
  });

  it.each([
    [
      'an entry before the one that is checked',
      '"entry":',
      '"entry":{"summary":"forged"},"entry":',
      '" twice',
    ],
    ['a member under its name as an escape', '"seq":1}', '"seq":1,"s\\u0065q":2}', '"seq" twice'],
    [
      'a further member',
      '"seq":1}',
      '"seq":1,"Entry":{"summary":"forged"}}',
      'members that a link does not have',
    ],
    ['a doubled member inside of the entry', '"r":1.50', '"r":1.50,"r":1.50', '"r" twice'],
    ['a number that rounds to the same', '12345678901234567890', '12345678901234567891', 'was changed'],
    ['a number of the same value', '1.50', '1.5', 'was changed'],
    ['half a character', 'key.created', 'key.created\\ud800', 'half of a surrogate pair'],
  ])('with %s is refused', async (_name, part, forged, why) => {
    const { link, head } = chainOf(entry);
    const { ok, message } = await verify(`${link.replace(part, forged)}\n${head}\n`);
    expect(ok).toBe(false);
    expect(message).toContain(why);
  });

  it('with further members in its head is refused', async () => {
    const { link, head } = chainOf(entry);
    const forged = head.replace(/}$/, ',"note":"all is well"}');
    expect(await verify(`${link}\n${forged}\n`)).toMatchObject({
      ok: false,
      message: expect.stringContaining('members that a signed head does not have'),
    });
  });

  it('with bytes that only read as the right character is refused', async () => {
    const { link, head } = chainOf('{"summary":"\ufffd"}');
    const whole = Buffer.from(`${link}\n${head}\n`);
    expect(await verify(whole)).toMatchObject({ ok: true });
    const at = whole.indexOf('\ufffd');
    const forged = Buffer.concat([whole.subarray(0, at), Buffer.from([0xff]), whole.subarray(at + 3)]);
    expect(await verify(forged)).toEqual(
      expect.objectContaining({ ok: false, message: 'is not UTF-8 text' }),
    );
  });
});

describe('a decision bundle', () => {
  it('is whole as the hub wrote it', async () => {
    expect(await verify(bundleOf())).toMatchObject({ ok: true });
  });

  it('with doubled or further members is refused', async () => {
    const text = bundleOf();
    const doubled = await verify(text.replace('"payload":', '"payload":"","payload":'));
    expect(doubled).toMatchObject({ ok: false, message: expect.stringContaining('" twice') });
    const further = await verify(text.replace('"payload":', '"events":[],"payload":'));
    expect(further).toMatchObject({ ok: false, message: 'has members that a decision bundle does not have' });
  });

  it('with a payload that can be read in two ways is refused, whoever signed it', async () => {
    const payload = Buffer.from(JSON.parse(bundleOf()).payload, 'base64').toString();
    expect(await verify(envelopeOf(payload.replace('"n":1', '"n":2,"n":1')))).toMatchObject({
      ok: false,
      message: expect.stringContaining('" twice'),
    });
    expect(await verify(envelopeOf(payload.replace('"n":1', '"n":1.0')))).toMatchObject({
      ok: false,
      message: 'event 1 was changed',
    });
  });
});
