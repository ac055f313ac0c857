// A button that changes something. It is off, with the reason, while the hub does not respond, and where the person's
// roles do not allow its operation.
import type { JSX } from 'react';
import type { Env } from '../../shared/ids.ts';
import type { Operation } from '../lib/api.ts';
import type { HostedOperation } from '../lib/hosted.ts';
import { useActionBlockReason, useStaleReason } from '../lib/may.ts';
import { Button, type ButtonProps } from './parts.tsx';

export interface ActButtonProps extends Omit<ButtonProps, 'cannot'> {
  /** Undefined: every role may press the button, or nobody is signed in yet. */
  readonly operation: Operation | HostedOperation | undefined;
  /** The environments that the operation changes; none: the role in any environment suffices. */
  readonly envs?: readonly Env[] | undefined;
}

export const ActButton = ({ operation, envs, ...rest }: ActButtonProps): JSX.Element =>
  operation ? <RoleButton {...rest} operation={operation} envs={envs} /> : <AnyRoleButton {...rest} />;

function RoleButton({ operation, envs, ...rest }: ActButtonProps): JSX.Element {
  return <Button {...rest} cannot={useActionBlockReason(operation, envs)} />;
}

function AnyRoleButton(button: ButtonProps): JSX.Element {
  return <Button {...button} cannot={useStaleReason()} />;
}
