// A run's signed decision bundle: download, and verification with the pinned keys. The key inside the bundle is never
// trusted.
import { type JSX, useEffect, useState } from 'react';
import { type Checked, verifyBundle } from '../../lib/evidence.ts';
import { useHostedAction } from '../../lib/hosted-query.ts';
import { download } from '../../ui/download.ts';
import { FileButton } from '../../ui/file-button.tsx';
import { Button } from '../../ui/parts.tsx';
import { PinnedKeys, usePinnedKeys } from '../../ui/pinned-keys.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { type Bundle, bundleIn, CheckResult, maxFile } from '../evidence/bundle-result.tsx';

export function Evidence({
  agent,
  session,
  isPeek,
}: {
  readonly agent: string;
  readonly session: string;
  /** Only the verification: files and keys are on the page of the run. */
  readonly isPeek: boolean;
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
    <section className="form" aria-label="Seal">
      <h2>Seal</h2>
      {!isPeek && (
        <p className="muted">
          The decision bundle contains the events of the run in a signed chain. This browser verifies it with
          your pinned keys. To verify a file elsewhere, use <code>reeve-agent verify</code>.
        </p>
      )}
      <div className="decide-buttons">
        <Button
          icon="check"
          busy={fetched.isPending}
          onClick={() => {
            setRefused(null);
            fetched.mutate({ params }, { onSuccess: setBundle });
          }}
        >
          Verify run
        </Button>
        {!isPeek && (
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
        )}
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
      {!isPeek && <PinnedKeys keys={keys} onKeys={keep} />}
    </section>
  );
}

const fileName = (agent: string, session: string): string =>
  `decision-bundle-${agent}-${session}.json`.replaceAll(/[^\w.-]/g, '_').slice(0, 200);
