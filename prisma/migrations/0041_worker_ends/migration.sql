-- AlterTable
ALTER TABLE "worker_seen" ADD COLUMN     "ended_at" TIMESTAMPTZ(3);
