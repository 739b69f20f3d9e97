/* Reports of the bridge to its process, and the answers: the same layout as in src/wire.rs. Sizes are bytes, times
 * nanoseconds of CLOCK_MONOTONIC. */
#ifndef INCASTLE_BRIDGE_H
#define INCASTLE_BRIDGE_H

enum report_kind { BEGIN, ACK, LOSS, TIMEOUT, END };
enum report_flags { ECHO = 1, WINDOW_LIMITED = 2, IN_RECOVERY = 4, AFTER_TIMEOUT = 8, FALLEN_BACK = 16 };

struct report {
	u64 connection;
	u64 number;              /* of this connection's reports */
	u64 at_ns;
	u64 snd_una, snd_nxt;    /* from the start of the stream, without wrapping */
	u64 delivered_ce;        /* packets */
	u64 lost;                /* packets */
	u64 answered;            /* the last answer that was applied: the number of its report */
	u64 applied_after_ns;    /* from that report to its application */
	u32 kind, flags;
	u32 acked;
	u32 segments;            /* packets newly delivered */
	u32 rtt_us, srtt_us;     /* 0: none */
	u32 mss, cwnd;           /* cwnd in packets */
	u32 local, remote;       /* IPv4 addresses, as they are in the header; 0: IPv6 */
	u32 local_port, remote_port;
};

struct answer {
	u64 number;              /* of the report that it answers */
	u64 report_ns;           /* when that was made */
	u64 pacing;              /* bytes per second; 0: none */
	u32 cwnd;                /* packets */
	u32 ssthresh;            /* packets */
};

#endif
