// A run's signed decision bundle: downloaded, and verified here by keys that the reader pinned. It never trusts the key
// that came with it.
import { type JSX, useEffect, useState } from 'react';
import { type Checked, isKey, keyIdOf, pinKeys, pinnedKeys, verifyBundle } from '../../lib/evidence.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { useHostedAction } from '../../lib/hosted-query.ts';
import { counted } from '../../lib/text.ts';
import { download } from '../../ui/download.ts';
import { Icon } from '../../ui/icons.tsx';
import { Button, Data, Failed, Field } from '../../ui/parts.tsx';

type Bundle = HostedReply<'hostedRunBundle'>;

export function Evidence({
  agent,
  session,
}: {
  readonly agent: string;
  readonly session: string;
}): JSX.Element {
  const fetched = useHostedAction('hostedRunBundle');
  const [keys, setKeys] = useState(pinnedKeys);
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
  const keep = (next: readonly string[]): void => {
    pinKeys(next);
    setKeys(next);
  };
  const params = { agent_id: agent, session_id: session };
  return (
    <section className="form" aria-label="Evidence">
      <h3>Signed evidence</h3>
      <p className="muted">
        The decision bundle holds the run’s events as a chain, signed by the hub. It is checked in this
        browser by the keys that you pinned; <code>reeve-agent verify</code> checks the file elsewhere.
      </p>
      <div className="decide-buttons">
        <Button
          icon="check"
          busy={fetched.isPending}
          onClick={() => fetched.mutate({ params }, { onSuccess: setBundle })}
        >
          Verify the bundle
        </Button>
        {bundle && (
          <Button
            icon="download"
            onClick={() => download(fileName(agent, session), 'application/json', JSON.stringify(bundle))}
          >
            Download it
          </Button>
        )}
      </div>
      {fetched.error && <Failed error={fetched.error} />}
      {bundle && checked && <Verdict of={checked} bundle={bundle} keys={keys} onPin={keep} />}
      <Pins keys={keys} onKeys={keep} />
    </section>
  );
}

const fileName = (agent: string, session: string): string =>
  `decision-bundle-${agent}-${session}.json`.replaceAll(/[^\w.-]/g, '_').slice(0, 200);

function Verdict({
  of,
  bundle,
  keys,
  onPin,
}: {
  readonly of: Checked;
  readonly bundle: Bundle;
  readonly keys: readonly string[];
  readonly onPin: (keys: readonly string[]) => void;
}): JSX.Element {
  const events = counted(of.payload?.event_count ?? 0, 'event');
  const offered = bundle.public_key.toLowerCase();
  const canPin = isKey(offered) && !keys.includes(offered);
  const tone = of.wrong !== null ? 'deny' : of.keyId === null ? 'ask' : 'allow';
  return (
    <div className={`notice notice-${tone}`} role="status" aria-label="What the check found">
      <Icon name={tone === 'allow' ? 'check' : tone === 'deny' ? 'slash' : 'triangle'} />
      <div>
        {of.wrong !== null ? (
          <p>
            <strong>Do not rely on it:</strong> <Data text={of.wrong} mono={false} max={400} />.
          </p>
        ) : of.keyId !== null ? (
          <p>
            <strong>Verified.</strong> {events} are whole and signed by your pinned key{' '}
            <Data text={of.keyId} /> (<Data text={of.signedBy ?? ''} max={40} />
            ), checked by {of.by}.
          </p>
        ) : (
          <p>
            <strong>Whole, but by whom?</strong> {events} follow each other, and you have pinned no key, so
            that the signature proves nothing yet.
          </p>
        )}
        {canPin && (
          <>
            <p>
              The hub says that it signs with <Data text={offered} />. Compare this with what the hub’s
              operators published before you pin it.
            </p>
            <Button onClick={() => onPin([...keys, offered])}>Pin this key</Button>
          </>
        )}
      </div>
    </div>
  );
}

function Pins({
  keys,
  onKeys,
}: {
  readonly keys: readonly string[];
  readonly onKeys: (keys: readonly string[]) => void;
}): JSX.Element {
  const [text, setText] = useState('');
  const key = text.trim().toLowerCase();
  return (
    <details>
      <summary>{counted(keys.length, 'pinned key')}</summary>
      <ul className="feed" aria-label="Pinned keys">
        {keys.map((one) => (
          <li key={one} className="feed-row">
            <span>
              <KeyId of={one} /> <Data text={one} max={64} />
            </span>
            <Button
              kind="quiet"
              icon="trash"
              aria-label={`Forget the key ${one.slice(0, 8)}`}
              onClick={() => onKeys(keys.filter((other) => other !== one))}
            />
          </li>
        ))}
      </ul>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isKey(key)) return;
          onKeys([...keys.filter((other) => other !== key), key]);
          setText('');
        }}
      >
        <Field
          label="Public key to pin"
          value={text}
          onValue={setText}
          spellCheck={false}
          help="64 hex characters, from somebody whom you trust. Kept in this browser."
          error={text !== '' && !isKey(key) ? 'A key has 64 hex characters.' : undefined}
        />
        <div>
          <Button submit disabled={!isKey(key)}>
            Pin key
          </Button>
        </div>
      </form>
    </details>
  );
}

function KeyId({ of }: { readonly of: string }): JSX.Element {
  const [id, setId] = useState('');
  useEffect(() => {
    let isOver = false;
    void keyIdOf(of).then((found) => {
      if (!isOver) setId(found);
    });
    return () => {
      isOver = true;
    };
  }, [of]);
  return <strong className="data">{id}</strong>;
}
