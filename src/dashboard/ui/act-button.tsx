// A button of one operation: it is off, with the reason, where the person's roles do not allow the operation.
import type { JSX } from 'react';
import type { Env } from '../../shared/ids.ts';
import type { Operation } from '../lib/api.ts';
import type { HostedOperation } from '../lib/hosted.ts';
import { useRefusal } from '../lib/may.ts';
import { Button, type ButtonProps } from './parts.tsx';

export interface ActButtonProps extends Omit<ButtonProps, 'cannot'> {
  readonly operation: Operation | HostedOperation;
  /** The environments that the operation changes; none: the role in any environment suffices. */
  readonly envs?: readonly Env[];
}

export function ActButton({ operation, envs, ...rest }: ActButtonProps): JSX.Element {
  return <Button {...rest} cannot={useRefusal(operation, envs)} />;
}

/** A button of an operation, or of none. */
export const RoleButton = ({
  operation,
  envs = [],
  ...button
}: ButtonProps & {
  readonly operation: Operation | HostedOperation | undefined;
  readonly envs?: readonly Env[] | undefined;
}): JSX.Element =>
  operation ? <ActButton {...button} operation={operation} envs={envs} /> : <Button {...button} />;
