/** Language and time zone of the host's user. */
const person = { locale: "en-GB", timeZone: "UTC" };

/**
 * Adopts the language and time zone of the host; values that the browser does not support are
 * ignored.
 */
export function setTimeFormat({ locale, timeZone }) {
  if (isSupported({ locale })) person.locale = locale;
  if (isSupported({ timeZone })) person.timeZone = timeZone;
}

function isSupported({ locale, timeZone }) {
  if (typeof (locale ?? timeZone) !== "string") return false;
  try {
    new Intl.DateTimeFormat(locale ?? "en", { timeZone: timeZone ?? "UTC" });
    return true;
  } catch {
    return false;
  }
}

const DATE = { day: "numeric", month: "short", year: "numeric" };

const DATE_LENGTH = "2026-11-21".length;

/** Formats an instant in the user's time zone, or the date of a session, which has no time zone. */
export function timeText(iso) {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return "–";
  const isDate = String(iso).length === DATE_LENGTH;
  const options = isDate
    ? { ...DATE, timeZone: "UTC" }
    : {
        ...DATE,
        hour: "2-digit",
        minute: "2-digit",
        timeZoneName: "short",
        timeZone: person.timeZone,
      };
  return new Intl.DateTimeFormat(person.locale, options).format(at);
}
