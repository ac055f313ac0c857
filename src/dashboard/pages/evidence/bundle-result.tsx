// The result of the check of a decision bundle, and the content of a bundle's file.
import { type JSX, useEffect, useState } from 'react';
import { readStrictJson } from '../../../../packages/agent/src/rules/strict-json.ts';
import { type Checked, isKey, verifyBundle } from '../../lib/evidence.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { counted } from '../../lib/text.ts';
import { FileButton } from '../../ui/file-button.tsx';
import { Button, Data, Notice, toneIcons } from '../../ui/parts.tsx';
import { usePinnedKeys } from '../../ui/pinned-keys.tsx';

export type Bundle = HostedReply<'hostedRunBundle'>;

/** Bytes; larger than any bundle. */
const maxFile = 32 * 1024 * 1024;

/** The content of a file. The check rejects a text that is no JSON, or that has two readings. */
function bundleIn(text: string): Bundle {
  try {
    return readStrictJson(text, { numbers: 'written' }) as Bundle;
  } catch {
    return { payload: '', signatures: [] } as unknown as Bundle;
  }
}

/** A decision bundle, checked again whenever it or the pinned keys change. */
export function useBundleCheck() {
  const [keys, onPin] = usePinnedKeys();
  /** Reason why a file was rejected. */
  const [refused, setRefused] = useState<string | null>(null);
  const [bundle, setBundle] = useState<Bundle | null>(null);
  const [checked, setChecked] = useState<Checked | null>(null);
  useEffect(() => {
    let isOver = false;
    if (bundle !== null) {
      void verifyBundle(bundle, keys).then((verdict) => {
        if (!isOver) setChecked(verdict);
      });
    }
    return () => {
      isOver = true;
    };
  }, [bundle, keys]);
  const check = (next: Bundle): void => {
    setRefused(null);
    setBundle(next);
  };
  return { keys, onPin, refused, setRefused, bundle, checked, check };
}

export const BundleButton = ({
  label,
  by: { check, setRefused },
}: Readonly<{ label: string; by: ReturnType<typeof useBundleCheck> }>): JSX.Element => (
  <FileButton
    label={label}
    accept=".json"
    maxBytes={maxFile}
    onText={(text) => check(bundleIn(text))}
    onRefused={setRefused}
  />
);

interface BundleCheckProps {
  readonly by: ReturnType<typeof useBundleCheck>;
  /** The run on the page; null on a page for any run. */
  readonly run: { readonly agent_id: string; readonly session_id: string } | null;
}

/** Result of the check. */
export const BundleCheck = ({ by, run }: BundleCheckProps): JSX.Element => (
  <>
    {by.refused && (
      <p className="field-error" role="alert">
        {by.refused}
      </p>
    )}
    {by.checked && <CheckResult by={by} result={by.checked} run={run} />}
  </>
);

function CheckResult({
  by: { bundle, keys, onPin },
  result,
  run,
}: BundleCheckProps & { readonly result: Checked }): JSX.Element {
  const events = counted(result.payload?.event_count ?? 0, 'event');
  const offered = typeof bundle?.public_key === 'string' ? bundle.public_key.toLowerCase() : '';
  const isOther =
    run !== null &&
    result.payload !== null &&
    (result.payload.agent_id !== run.agent_id || result.payload.session_id !== run.session_id);
  const canPin = isKey(offered) && !keys.includes(offered);
  const tone = result.wrong !== null ? 'deny' : result.keyId === null || isOther ? 'ask' : 'allow';
  return (
    <Notice tone={tone} icon={toneIcons[tone]} role="status" label="Verification result">
      {result.wrong !== null ? (
        <p>
          <strong>Verification failed:</strong> <Data text={result.wrong} mono={false} max={400} />.
        </p>
      ) : result.keyId !== null ? (
        <p>
          <strong>Verified.</strong> {events} intact and signed by your pinned key{' '}
          <Data text={result.keyId} /> (<Data text={result.signedBy ?? ''} max={40} />
          ), verified with {result.by}.
        </p>
      ) : (
        <p>
          <strong>Intact, signer unknown.</strong> The chain of {events} is complete, but the signature needs
          a pinned key. Pin a key that you trust.
        </p>
      )}
      {isOther && (
        <p>
          <strong>This bundle belongs to another run</strong>: agent{' '}
          <Data text={result.payload?.agent_id ?? ''} max={120} />, session{' '}
          <Data text={result.payload?.session_id ?? ''} max={120} />.
        </p>
      )}
      {canPin && (
        <>
          <p>
            The hub reports the signing key <Data text={offered} />. Before you pin it, compare it with the
            key that the hub operators published.
          </p>
          <Button onClick={() => onPin(offered, true)}>Pin hub key</Button>
        </>
      )}
    </Notice>
  );
}
