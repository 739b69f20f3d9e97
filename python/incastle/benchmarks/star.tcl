# The star for ns-2, the same network as `incastle bench` runs: senders, one switch, one receiver,
# 10 Gbit/s and 25 us on every link, packets of 1500 B, one ACK per packet, marking above 65 packets.
#
# ns-2 has no DCTCP, so NewReno with ECN runs here: a comparison of engine speed only, never of protocols.
#
#   ns star.tcl SENDERS SECONDS        prints one line of "key value" pairs
#
# What the figures mean: packet_hops counts every packet (data and ACK) that a link delivered,
# which is what Incastle counts; wall_ms is the time inside `$ns run`, without building the network.

if {$argc != 2} {
    puts stderr "usage: ns star.tcl SENDERS SECONDS"
    exit 2
}
set senders [lindex $argv 0]
set seconds [lindex $argv 1]

set rate 10Gb
set delay 25us
set marking_threshold 65
set buffer_packets 2666   ;# 4 MB of 1500 B packets

# Only the headers that are used travel with each packet: ns-2 is several times slower otherwise.
remove-all-packet-headers
add-packet-header IP TCP Flags

set ns [new Simulator]
$ns use-scheduler Splay    ;# the fastest of the four here, Calendar (the default) takes half as long again

# RED as a step: the instantaneous queue (q_weight_ 1) decides, everything above the threshold is marked.
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 1500
Queue/RED set setbit_ true
Queue/RED set gentle_ false
Queue/RED set q_weight_ 1.0
Queue/RED set mark_p_ 2.0   ;# it marks where the probability lies below, and drops at 1.0
Queue/RED set thresh_ $marking_threshold
Queue/RED set maxthresh_ $marking_threshold

# packetSize_ is what the link serialises: 1460 B of data and 40 B of headers.
Agent/TCP set packetSize_ 1460
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set ecn_ 1
Agent/TCP set window_ 100000
Agent/TCP set maxcwnd_ 100000
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001

set switch [$ns node]
set receiver [$ns node]
$ns duplex-link $switch $receiver $rate $delay RED
$ns queue-limit $switch $receiver $buffer_packets
$ns queue-limit $receiver $switch $buffer_packets

for {set i 0} {$i < $senders} {incr i} {
    set host [$ns node]
    $ns duplex-link $host $switch $rate $delay DropTail
    $ns queue-limit $host $switch 100000
    set tcp($i) [new Agent/TCP/Newreno]
    set sink($i) [new Agent/TCPSink]
    $ns attach-agent $host $tcp($i)
    $ns attach-agent $receiver $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    # Starts are spread over one idle round trip, as Incastle spreads them.
    $ns at [expr {$i * 100e-6 / $senders}] "$ftp($i) start"
}

proc report {} {
    global senders seconds tcp sink started
    set wall_ms [expr {[clock milliseconds] - $started}]
    set received 0
    set sent 0
    for {set i 0} {$i < $senders} {incr i} {
        # ndatapack_ counts transmissions, the highest ACK what arrived in order.
        set sent [expr {$sent + [$tcp($i) set ndatapack_]}]
        set received [expr {$received + [$tcp($i) set ack_] + 1}]
    }
    # A delivered data packet crossed two links and so did its ACK. Nothing is lost: the step
    # keeps the queue far below the buffer.
    puts "version [ns-version] simulated_s $seconds wall_ms $wall_ms data_packets $received sent_packets $sent packet_hops [expr {4 * $received}]"
    exit 0
}

$ns at $seconds report
set started [clock milliseconds]
$ns run
