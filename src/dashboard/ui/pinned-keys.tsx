// The public keys that a person trusts. This browser stores them and checks signed evidence with them.
import { type JSX, useEffect, useState } from 'react';
import { isKey, keyIdOf, pinKeys, pinnedKeys } from '../lib/evidence.ts';
import { counted } from '../lib/text.ts';
import { Field, Form } from './form.tsx';
import { Button, Data } from './parts.tsx';

/** Changes one key in the list that this browser stores now: another tab may have changed it. */
type PinKey = (key: string, isPinned: boolean) => void;

export function usePinnedKeys(): readonly [readonly string[], PinKey] {
  const [keys, setKeys] = useState(pinnedKeys);
  const pin: PinKey = (key, isPinned) => {
    const others = pinnedKeys().filter((other) => other !== key);
    const next = isPinned ? [...others, key] : others;
    pinKeys(next);
    setKeys(next);
  };
  return [keys, pin];
}

export function PinnedKeys({
  keys,
  onPin,
}: Readonly<{ keys: readonly string[]; onPin: PinKey }>): JSX.Element {
  const [text, setText] = useState('');
  const key = text.trim().toLowerCase();
  return (
    <details>
      <summary>{counted(keys.length, 'pinned key')}</summary>
      <ul className="feed" aria-label="Pinned keys">
        {keys.map((one) => (
          <li key={one} className="feed-row">
            <span>
              <KeyId publicKey={one} /> <Data text={one} max={64} />
            </span>
            <Button
              kind="quiet"
              icon="trash"
              aria-label={`Remove key ${one.slice(0, 8)}`}
              onClick={() => onPin(one, false)}
            />
          </li>
        ))}
      </ul>
      <Form
        onSubmit={() => {
          if (!isKey(key)) return;
          onPin(key, true);
          setText('');
        }}
      >
        <Field
          label="Public key to pin"
          value={text}
          onValue={setText}
          spellCheck={false}
          help="Enter 64 hexadecimal characters from a trusted source. The key is stored in this browser."
          error={text !== '' && !isKey(key) ? 'Enter exactly 64 hexadecimal characters.' : undefined}
        />
        <div>
          <Button submit disabled={!isKey(key)}>
            Pin key
          </Button>
        </div>
      </Form>
    </details>
  );
}

function KeyId({ publicKey }: { readonly publicKey: string }): JSX.Element {
  const [id, setId] = useState('');
  useEffect(() => {
    let isOver = false;
    void keyIdOf(publicKey).then((keyId) => {
      if (!isOver) setId(keyId);
    });
    return () => {
      isOver = true;
    };
  }, [publicKey]);
  return <strong className="data">{id}</strong>;
}
