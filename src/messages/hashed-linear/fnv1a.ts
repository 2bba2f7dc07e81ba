const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** 32-bit FNV-1a hash (RFC 9923) of the UTF-16 code units of a text, low byte first. */
export function fnv1a(text: string): number {
  let hash = OFFSET_BASIS;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    hash = Math.imul(hash ^ (unit & 0xff), PRIME);
    hash = Math.imul(hash ^ (unit >>> 8), PRIME);
  }
  return hash >>> 0;
}
