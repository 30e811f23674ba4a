import sharp, { type Sharp } from 'sharp';
import { overloaded, Refusal } from '../../shared/refusal.js';
import { createSemaphore } from '../../shared/semaphore.js';

/** The stored format: a square at most, in the one format that we encode ourselves. */
export const PICTURE_TYPE = 'image/webp';
const SIDE = 512;
/** A file of a few hundred bytes can declare billions of pixels. */
const MAX_PIXELS = 4_096 * 4_096;
const SECONDS = 5;

// Allow only these three of the library's decoders, which keeps the attack surface small.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer', 'VipsForeignLoadWebpBuffer'] });
sharp.cache(false);
sharp.concurrency(1);

/** The library uses libuv's thread pool, as name lookups and files do, so at most two threads work on pictures. */
const semaphore = createSemaphore({
  permits: 2,
  queue: { most: 50, full: () => overloaded('too many pictures at once; try again in a moment', 2) },
});

/**
 * Decodes a PNG, JPEG or WebP and encodes it again, off the event loop, which removes all metadata (such as the place
 * of a photo). Refuses other formats, damaged files and pictures that are too large.
 */
export async function encodePicture(bytes: Uint8Array): Promise<Uint8Array> {
  if (!isPicture(bytes))
    throw new Refusal('refused', 'the body is not a picture: send the bytes of a PNG, JPEG or WebP');
  return semaphore.run(async () => {
    try {
      return new Uint8Array(await encoder(bytes).toBuffer());
    } catch (error) {
      const tooBig = error instanceof Error && /pixel limit/i.test(error.message);
      throw new Refusal(
        'refused',
        tooBig
          ? `the picture has over ${MAX_PIXELS / 1_000_000} million pixels: make it smaller`
          : 'the picture cannot be read: it is damaged, or takes too long to decode; save it again and send that',
      );
    }
  });
}

function encoder(bytes: Uint8Array): Sharp {
  return sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error', pages: 1 })
    .autoOrient()
    .resize({ width: SIDE, height: SIDE, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: 85 })
    .timeout({ seconds: SECONDS });
}

/** Detects the format by the first bytes, since the declared type may be wrong. */
function isPicture(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  return head.startsWith('\x89PNG\r\n\x1a\n') || head.startsWith('\xff\xd8\xff') || /^RIFF....WEBP$/s.test(head);
}
