// A button that copies a text, and the display of a text that the hub shows once.
import type { JSX } from 'react';
import { copyText } from './download.ts';
import { say } from './messages.tsx';
import { Button, type ButtonProps, Data } from './parts.tsx';

interface CopyButtonProps extends Pick<ButtonProps, 'kind'> {
  readonly text: string;
  /** In lower case: `key`. */
  readonly noun: string;
  /** Label of the button. Default: `Copy` and the noun. */
  readonly label?: string;
  /** The other way to copy, for a browser that blocks the clipboard. */
  readonly otherwise?: string;
}

/** Copies a text, and shows a message about the result. */
export async function copyAndSay({
  text,
  noun,
  otherwise = `Select the ${noun} and copy it.`,
}: CopyButtonProps): Promise<void> {
  const isCopied = await copyText(text);
  if (isCopied) say(`${noun.charAt(0).toUpperCase()}${noun.slice(1)} copied.`, 'allow');
  else say(`The browser blocked the clipboard. ${otherwise}`, 'deny');
}

export function CopyButton(props: CopyButtonProps): JSX.Element {
  const { noun, label = `Copy ${noun}`, kind } = props;
  return (
    <Button {...(kind ? { kind } : {})} icon="copy" onClick={() => void copyAndSay(props)}>
      {label}
    </Button>
  );
}

export const CopySecret = (props: Readonly<{ text: string; noun: string }>): JSX.Element => (
  <>
    <pre className="code">
      <Data text={props.text} max={1_000} />
    </pre>
    <CopyButton kind="primary" {...props} />
  </>
);
