// The signed-in person: name, roles, and the appearance of the console.
import type { JSX } from 'react';
import { useSignedIn } from '../../lib/me.ts';
import { changePrefs, chooseTheme, type Theme, themeChoice, themes, usePrefs } from '../../lib/prefs.ts';
import { rolesText } from '../../lib/roles.ts';
import { useStore } from '../../lib/store.ts';
import { Check, Select } from '../../ui/form.tsx';
import { DataParagraph } from '../../ui/names.tsx';
import { PageHead } from '../../ui/parts.tsx';
import { TitledCard } from '../../ui/titled-card.tsx';

export default function ProfilePage(): JSX.Element {
  const me = useSignedIn();
  return (
    <div className="page">
      <PageHead title="Profile" />
      <div className="columns-two">
        <TitledCard title="You">
          <DataParagraph text={me.email} mono={false} max={160} />
          <p className="muted">{rolesText(me.roles)}</p>
        </TitledCard>
        <View />
      </div>
    </div>
  );
}

function View(): JSX.Element {
  const { utc, compact } = usePrefs();
  const theme = useStore(themeChoice);
  return (
    <TitledCard title="Appearance">
      <Select label="Theme" value={theme} options={themes} onValue={(next) => chooseTheme(next as Theme)} />
      <Check checked={utc} onChange={() => changePrefs({ utc: !utc })}>
        Show times in UTC
      </Check>
      <Check checked={compact} onChange={() => changePrefs({ compact: !compact })}>
        Use compact rows
      </Check>
      <p className="muted">Stored in this browser.</p>
    </TitledCard>
  );
}
