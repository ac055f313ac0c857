// The roles of a person: one for every environment, and one for each, which may be stronger there.
import { type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useAction } from '../../lib/query.ts';
import { type Role, roleNames } from '../../lib/roles.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, Select } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';

const places = [
  ['*', 'Every environment'],
  ['production', 'Production'],
  ['staging', 'Staging'],
  ['development', 'Development'],
] as const satisfies readonly (readonly [Role['env'], string])[];

interface EditorProps {
  readonly roles: readonly Role[];
  readonly onRoles: (roles: readonly Role[]) => void;
}

export function RoleEditor({ roles, onRoles }: EditorProps): JSX.Element {
  const isAdmin = roles.some(({ role }) => role === 'admin');
  const change = (env: Role['env'], role: string): void => {
    const others = role === 'admin' ? [] : roles.filter((one) => one.env !== env);
    onRoles(role === '' ? others : [...others, { role: role as Role['role'], env }]);
  };
  return (
    <fieldset className="fields">
      <legend>Roles</legend>
      {places
        .filter(([env]) => !isAdmin || env === '*')
        .map(([env, label]) => (
          <Select
            key={env}
            label={label}
            value={roles.find((one) => one.env === env)?.role ?? ''}
            onValue={(role) => change(env, role)}
            options={[
              ['', 'No role'],
              ...Object.entries(roleNames).filter(([role]) => env === '*' || role !== 'admin'),
            ]}
          />
        ))}
      <p className="field-help">
        A viewer reads, an approver also decides approvals, an operator also changes contracts and deploys, an
        admin also manages people, keys and settings. Each includes the ones before it.
      </p>
    </fieldset>
  );
}

export function ChangeRoles({
  user,
  onClose,
}: Readonly<{ user: Reply<'listUsers'>[number]; onClose: () => void }>): JSX.Element {
  const update = useAction('updateUser', ['listUsers']);
  const [roles, setRoles] = useState<readonly Role[]>(user.roles);
  return (
    <Dialog title={`Roles of ${user.email}`} open onClose={onClose}>
      <Form
        by={update}
        act="Save roles"
        isOff={roles.length === 0}
        onSubmit={() =>
          update.mutate({ params: { user_id: user.user_id }, body: { roles: [...roles] } }, () => {
            say(`Roles of ${user.email} saved.`, 'allow');
            onClose();
          })
        }
      >
        <RoleEditor roles={roles} onRoles={setRoles} />
      </Form>
    </Dialog>
  );
}
