// A button that leads to a new change. Without the role for it, the button is off and names the role.
import { useNavigate } from '@tanstack/react-router';
import type { JSX, ReactNode } from 'react';
import type { ChangeLink } from '../../lib/change-link.ts';
import { type CommandName, useCommand } from '../../lib/commands.ts';
import { Button } from '../../ui/parts.tsx';

export interface ChangeButtonProps {
  readonly link: ChangeLink;
  /** Reason why the button is off; null if it is not. */
  readonly why: string | null;
  readonly kind?: 'primary' | 'plain' | 'quiet';
  readonly label?: string;
  readonly children: ReactNode;
}

export function ChangeButton({
  command,
  of,
  ...rest
}: ChangeButtonProps & { readonly command: CommandName; readonly of: string }): JSX.Element {
  const navigate = useNavigate();
  useCommand(command, () => void navigate({ ...rest.link }), { of, why: rest.why });
  return <PlainChangeButton {...rest} />;
}

/** Without a key. */
export function PlainChangeButton({
  link,
  why,
  kind = 'plain',
  label,
  children,
}: ChangeButtonProps): JSX.Element {
  const navigate = useNavigate();
  return (
    <Button kind={kind} cannot={why} aria-label={label} onClick={() => void navigate({ ...link })}>
      {children}
    </Button>
  );
}
