// The form of every kind that MongoDB keeps.
import { activityForms } from './activity-forms.ts';
import type { Forms, StoredKind } from './forms.ts';
import { libraryForms } from './library-forms.ts';
import { peopleForms } from './people-forms.ts';

export const forms: Forms<StoredKind> = { ...peopleForms, ...libraryForms, ...activityForms };
