// A text that the hub shows once, with a button that copies it.
import type { JSX } from 'react';
import { copyText } from './download.ts';
import { say } from './messages.tsx';
import { Button, Data } from './parts.tsx';

export function CopySecret({
  text,
  noun,
}: {
  readonly text: string;
  /** In lower case: `key`. */
  readonly noun: string;
}): JSX.Element {
  const copy = async (): Promise<void> =>
    say(
      (await copyText(text))
        ? `${noun.charAt(0).toUpperCase()}${noun.slice(1)} copied.`
        : `The browser blocked the clipboard. Select the ${noun} and copy it.`,
    );
  return (
    <>
      <pre className="code">
        <Data text={text} max={1_000} />
      </pre>
      <Button kind="primary" icon="copy" onClick={() => void copy()}>
        Copy {noun}
      </Button>
    </>
  );
}
