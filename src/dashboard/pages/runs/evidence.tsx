// A run's signed decision bundle: download, and verification with the pinned keys. The key inside the bundle is never
// trusted.
import { type JSX, useEffect, useState } from 'react';
import { readStrictJson } from '../../../../packages/agent/src/rules/strict-json.ts';
import { type Checked, isKey, verifyBundle } from '../../lib/evidence.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { useHostedAction } from '../../lib/hosted-query.ts';
import { counted } from '../../lib/text.ts';
import { download } from '../../ui/download.ts';
import { FileButton } from '../../ui/file-button.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Button, Data } from '../../ui/parts.tsx';
import { PinnedKeys, usePinnedKeys } from '../../ui/pinned-keys.tsx';
import { Failed } from '../../ui/query-result.tsx';

type Bundle = HostedReply<'hostedRunBundle'>;

export function Evidence({
  agent,
  session,
}: {
  readonly agent: string;
  readonly session: string;
}): JSX.Element {
  const fetched = useHostedAction('hostedRunBundle');
  const [keys, keep] = usePinnedKeys();
  /** Why a file was rejected. */
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
  const params = { agent_id: agent, session_id: session };
  return (
    <section className="form" aria-label="Evidence">
      <h3>Signed evidence</h3>
      <p className="muted">
        The decision bundle contains the events of the run in a signed chain. This browser verifies it with
        your pinned keys. To verify a file elsewhere, use <code>reeve-agent verify</code>.
      </p>
      <div className="decide-buttons">
        <Button
          icon="check"
          busy={fetched.isPending}
          onClick={() => {
            setRefused(null);
            fetched.mutate({ params }, { onSuccess: setBundle });
          }}
        >
          Verify bundle
        </Button>
        <FileButton
          label="Verify file"
          accept=".json"
          maxBytes={maxFile}
          onText={(text) => {
            setRefused(null);
            setBundle(bundleIn(text));
          }}
          onRefused={setRefused}
        />
        {bundle && (
          <Button
            icon="download"
            onClick={() => download(fileName(agent, session), 'application/json', JSON.stringify(bundle))}
          >
            Download bundle
          </Button>
        )}
      </div>
      {fetched.error && <Failed error={fetched.error} />}
      {refused && (
        <p className="field-error" role="alert">
          {refused}
        </p>
      )}
      {bundle && checked && (
        <CheckResult result={checked} bundle={bundle} run={params} keys={keys} onPin={keep} />
      )}
      <PinnedKeys keys={keys} onKeys={keep} />
    </section>
  );
}

const fileName = (agent: string, session: string): string =>
  `decision-bundle-${agent}-${session}.json`.replaceAll(/[^\w.-]/g, '_').slice(0, 200);

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

function CheckResult({
  result,
  bundle,
  run,
  keys,
  onPin,
}: {
  readonly result: Checked;
  readonly bundle: Bundle;
  /** The run on the page. */
  readonly run: { readonly agent_id: string; readonly session_id: string };
  readonly keys: readonly string[];
  readonly onPin: (keys: readonly string[]) => void;
}): JSX.Element {
  const events = counted(result.payload?.event_count ?? 0, 'event');
  const offered = typeof bundle?.public_key === 'string' ? bundle.public_key.toLowerCase() : '';
  const isOther =
    result.payload !== null &&
    (result.payload.agent_id !== run.agent_id || result.payload.session_id !== run.session_id);
  const canPin = isKey(offered) && !keys.includes(offered);
  const tone = result.wrong !== null ? 'deny' : result.keyId === null || isOther ? 'ask' : 'allow';
  return (
    <div className={`notice notice-${tone}`} role="status" aria-label="Verification result">
      <Icon name={tone === 'allow' ? 'check' : tone === 'deny' ? 'slash' : 'triangle'} />
      <div>
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
            <strong>Intact, signer unknown.</strong> The chain of {events} is complete, but the signature
            needs a pinned key. Pin a key that you trust.
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
            <Button onClick={() => onPin([...keys, offered])}>Pin hub key</Button>
          </>
        )}
      </div>
    </div>
  );
}
