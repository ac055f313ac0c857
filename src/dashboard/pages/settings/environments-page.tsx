// The environments, and which of them are protected.
import type { JSX } from 'react';
import { useSignedIn } from '../../lib/me.ts';
import { PageHead } from '../../ui/parts.tsx';
import { Environments } from './environments.tsx';

export default function EnvironmentsPage(): JSX.Element {
  const { is_admin: isAdmin } = useSignedIn();
  return (
    <div className="page">
      <PageHead title="Environments" />
      <Environments isAdmin={isAdmin} />
    </div>
  );
}
