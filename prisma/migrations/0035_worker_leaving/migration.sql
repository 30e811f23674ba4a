-- AlterTable
ALTER TABLE "worker_seen" ADD COLUMN     "leaving_at" TIMESTAMPTZ(3);
