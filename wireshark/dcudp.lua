-- Wireshark dissector for DCUDP: every field of docs/models/dcudp-wire.md, those of UDT 4 included.
--
-- Wireshark has a dissector for plain UDT, which reads a DCUDP connection wrongly. The handshake negotiates the dialect,
-- so this one takes over the conversation whose handshake has DCUDP's words. Where the handshake is missing:
-- "Decode As... DCUDP", or the preference `dcudp.ports`. A conversation in which one endpoint responds without those
-- words is plain UDT, and shown so; without a handshake, from the first ACK on whose length only plain UDT has.
-- UDT with accurate ACKs has words of its own in the handshake, and UDT's layout.
-- Leaves out: reassembly of messages, pairing of requests and responses.
--
-- To install: copy it into the folder that Help > About > Folders calls "Personal Lua Plugins", or run
-- tshark -X lua_script:dcudp.lua.

local dcudp = Proto("dcudp", "Data Center UDT")

local MAGIC, ACCURATE_MAGIC = 0x44435544, 0x41434B53
local ACCURATE_ACK = 3
local HANDSHAKE, KEEP_ALIVE, ACK, NAK, WARNING, SHUTDOWN, ACK2, DROP, USER = 0, 1, 2, 3, 4, 5, 6, 7, 0x7FFF
local TYPES = {
    [HANDSHAKE] = "Handshake", [KEEP_ALIVE] = "Keep-alive", [ACK] = "ACK", [NAK] = "NAK",
    [WARNING] = "Congestion warning", [SHUTDOWN] = "Shutdown", [ACK2] = "ACK2",
    [DROP] = "Message drop request", [USER] = "User-defined",
}
local SUBTYPES = { [1] = "OBS-change", [2] = "OBS-changed", [ACCURATE_ACK] = "Accurate ACK" }
local PLACES = { [0] = "Middle", [1] = "Last", [2] = "First", [3] = "Only" }
local SOCKET_TYPES = { [1] = "Stream", [2] = "Messages" }
local CONNECTION_TYPES = {
    [1] = "Request", [-1] = "Response", [0] = "Rendezvous", [-2] = "Rendezvous done", [1002] = "Refused",
}
local ROLES = { [1] = "Offer", [2] = "Answer" }

local field, list = {}, {}
local function add(name, make, title, ...)
    field[name] = make("dcudp." .. name, title, ...)
    table.insert(list, field[name])
end

add("control", ProtoField.bool, "Control packet", 32, nil, 0x80000000)
-- Data.
add("sequence", ProtoField.uint32, "Sequence number", base.DEC, nil, 0x7FFFFFFF)
add("place", ProtoField.uint32, "Position in its message", base.DEC, PLACES, 0xC0000000)
add("in_order", ProtoField.bool, "In order", 32, nil, 0x20000000)
add("cwr", ProtoField.bool, "CWR: sender has slowed down", 32, nil, 0x08000000)
add("message", ProtoField.uint32, "Message number", base.DEC, nil, 0x07FFFFFF)
add("payload", ProtoField.bytes, "Payload")
-- Control.
add("type", ProtoField.uint32, "Type", base.HEX, TYPES, 0x7FFF0000)
add("subtype", ProtoField.uint32, "Subtype", base.DEC, SUBTYPES, 0x0000FFFF)
add("reserved", ProtoField.uint32, "Reserved", base.HEX, nil, 0x0000FFFF)
add("ece", ProtoField.bool, "ECE: congestion experienced", 32, nil, 0x00008000)
add("nect", ProtoField.bool, "NECT: the path clears ECT", 32, nil, 0x00004000)
add("answers", ProtoField.bool, "Answers the peer's shutdown", 32, nil, 0x00000001)
add("gone", ProtoField.bool, "Accepts nothing any more", 32, nil, 0x00000002)
add("information", ProtoField.uint32, "Additional information")
add("timestamp", ProtoField.uint32, "Time stamp (us)")
add("destination", ProtoField.uint32, "Destination socket")
add("number", ProtoField.uint32, "Control sequence number", base.DEC, nil, 0x7FFFFFFF)
add("ack_number", ProtoField.uint32, "ACK number")
add("change", ProtoField.uint32, "Number of the change")
add("next", ProtoField.uint32, "Next sequence number expected")
add("rtt", ProtoField.uint32, "Round-trip time (us)")
add("variance", ProtoField.uint32, "Variance of the round-trip time (us)")
add("free", ProtoField.uint32, "Free buffer (packets)")
add("receiving_rate", ProtoField.uint32, "Receiving rate (packets/s)")
add("capacity", ProtoField.uint32, "Link capacity (packets/s)")
add("newest", ProtoField.uint32, "Newest packet", base.DEC, nil, 0x7FFFFFFF)
add("delay", ProtoField.uint32, "Time since it arrived (us)")
add("arrived", ProtoField.uint32, "Packets that arrived")
add("ce", ProtoField.uint32, "Packets with CE")
add("ect", ProtoField.uint32, "Packets with ECT")
add("lost", ProtoField.uint32, "Packets found missing")
add("lost_first", ProtoField.uint32, "First lost", base.DEC, nil, 0x7FFFFFFF)
add("lost_last", ProtoField.uint32, "Last lost")
add("drop_message", ProtoField.uint32, "Message number")
add("drop_first", ProtoField.uint32, "First sequence number")
add("drop_last", ProtoField.uint32, "Last sequence number")
-- Handshakes.
add("hs.version", ProtoField.uint32, "UDT version")
add("hs.socket_type", ProtoField.uint32, "Socket type", base.DEC, SOCKET_TYPES)
add("hs.first", ProtoField.uint32, "First sequence number")
add("hs.packet_size", ProtoField.uint32, "Maximum packet size")
add("hs.window", ProtoField.uint32, "Maximum flow window")
add("hs.type", ProtoField.int32, "Connection type", base.DEC, CONNECTION_TYPES)
add("hs.socket", ProtoField.uint32, "Socket")
add("hs.cookie", ProtoField.uint32, "Cookie", base.HEX)
add("hs.address", ProtoField.bytes, "Peer's address")
add("hs.magic", ProtoField.string, "DCUDP")
add("hs.extension_version", ProtoField.uint32, "Version of DCUDP's words", base.DEC, nil, 0xFFFF0000)
add("hs.role", ProtoField.uint32, "Role", base.DEC, ROLES, 0x0000FFFF)
add("hs.accurate_magic", ProtoField.string, "Accurate ACKs")
add("hs.accurate_version", ProtoField.uint32, "Version of their words", base.DEC, nil, 0xFF000000)
add("hs.accurate_role", ProtoField.uint32, "Role", base.DEC, ROLES, 0x00FF0000)
add("hs.ack_packets", ProtoField.uint32, "Packets with one ACK", base.DEC, nil, 0x0000FF00)
add("hs.ack_per_rtt", ProtoField.uint32, "Parts of a round-trip time", base.DEC, nil, 0x000000FF)
add("hs.extension_socket", ProtoField.uint32, "Socket of their writer")

-- OBS has different bits in data and in control packets: two fields of one name.
local data_obs = ProtoField.bool("dcudp.obs", "OBS: congestion mode", 32, nil, 0x10000000)
local control_obs = ProtoField.bool("dcudp.obs", "OBS: congestion mode", 32, nil, 0x80000000)
table.insert(list, data_obs)
table.insert(list, control_obs)
-- Plain UDT's message number has the two bits of OBS and CWR too.
local plain_message = ProtoField.uint32("dcudp.message", "Message number", base.DEC, nil, 0x1FFFFFFF)
table.insert(list, plain_message)
dcudp.fields = list

local malformed = ProtoExpert.new("dcudp.malformed", "No DCUDP packet", expert.group.MALFORMED, expert.severity.ERROR)
dcudp.experts = { malformed }

dcudp.prefs.ports = Pref.range("UDP ports", "", "UDP ports whose packets are DCUDP", 65535)

local function top_bit(word)
    return word >= 0x80000000
end

local function without_top_bit(word)
    return word % 0x80000000
end

-- Whether a conversation is plain UDT; nil until that is known.
local plain = {}

function dcudp.init()
    plain = {}
end

local function conversation_of(info)
    local endpoints = { tostring(info.src) .. " " .. info.src_port, tostring(info.dst) .. " " .. info.dst_port }
    table.sort(endpoints)
    return endpoints[1] .. " " .. endpoints[2]
end

-- A request begins a conversation; a response without DCUDP's words makes it plain UDT.
local function learn_from_handshake(packet, conversation)
    local connection_type = packet(36, 4):int()
    if connection_type == 1 then
        plain[conversation] = nil
    else
        plain[conversation] = plain[conversation] or packet(52, 4):uint() ~= MAGIC
    end
end

-- The lengths of plain UDT's ACKs: no control sequence number stands before the body.
local PLAIN_ACKS = { [20] = true, [32] = true, [40] = true }

local function has_plain_length(packet, kind)
    local accurate = kind == USER and packet(2, 2):uint() == ACCURATE_ACK
    return kind == ACK and PLAIN_ACKS[packet:len()] or accurate and packet:len() == 40
end

local function is_plain(packet, info)
    local conversation = conversation_of(info)
    local first = packet(0, 4):uint()
    if top_bit(first) then
        local kind = math.floor(without_top_bit(first) / 0x10000)
        if kind == HANDSHAKE and packet:len() == 64 then
            learn_from_handshake(packet, conversation)
        elseif plain[conversation] == nil and has_plain_length(packet, kind) then
            plain[conversation] = true
        end
    end
    return plain[conversation]
end

-- Each function below adds a body to the tree, and returns whether it is complete.

local function handshake(packet, tree)
    if packet:len() ~= 64 then
        return false
    end
    local body = packet(16)
    local names = { "version", "socket_type", "first", "packet_size", "window", "type", "socket", "cookie" }
    for index, name in ipairs(names) do
        tree:add(field["hs." .. name], body(4 * (index - 1), 4))
    end
    local magic = body(36, 4):uint()
    if magic ~= MAGIC and magic ~= ACCURATE_MAGIC then
        tree:add(field["hs.address"], body(32, 16))
        return true
    end
    tree:add(field["hs.address"], body(32, 4))
    if magic == MAGIC then
        tree:add(field["hs.magic"], body(36, 4))
        tree:add(field["hs.extension_version"], body(40, 4))
        tree:add(field["hs.role"], body(40, 4))
    else
        tree:add(field["hs.accurate_magic"], body(36, 4))
        for _, name in ipairs({ "accurate_version", "accurate_role", "ack_packets", "ack_per_rtt" }) do
            tree:add(field["hs." .. name], body(40, 4))
        end
    end
    tree:add(field["hs.extension_socket"], body(44, 4))
    return true
end

local function ack(packet, at, tree)
    local names = { "next", "rtt", "variance", "free", "receiving_rate", "capacity" }
    local length = packet:len() - at
    if length ~= 4 and length ~= 16 and length ~= 24 then
        return false
    end
    for index = 1, length / 4 do
        tree:add(field[names[index]], packet(at + 4 * (index - 1), 4))
    end
    return true
end

local function accurate_ack(packet, at, tree)
    local names = { "next", "newest", "delay", "ce", "ect", "lost" }
    if packet:len() - at ~= 24 then
        return false
    end
    for index, name in ipairs(names) do
        tree:add(field[name], packet(at + 4 * (index - 1), 4))
    end
    return true
end

-- A number with its top bit set opens a range, which the next number closes.
local function losses(packet, at, tree)
    if packet:len() == at or packet:len() % 4 ~= 0 then
        return false
    end
    while at < packet:len() do
        local opens = top_bit(packet(at, 4):uint())
        tree:add(field.lost_first, packet(at, 4))
        if opens then
            at = at + 4
            if at >= packet:len() or top_bit(packet(at, 4):uint()) then
                return false
            end
        end
        tree:add(field.lost_last, packet(at, 4))
        at = at + 4
    end
    return true
end

local function drop(packet, at, tree)
    if packet:len() - at ~= 8 then
        return false
    end
    tree:add(field.drop_first, packet(at, 4))
    tree:add(field.drop_last, packet(at + 4, 4))
    return true
end

-- The library pads an empty body with one word.
local function bare(packet, at)
    return packet:len() == at or packet:len() == at + 4
end

local BODIES = { [ACK] = ack, [NAK] = losses, [DROP] = drop }
local INFORMATION = { [ACK] = "ack_number", [ACK2] = "ack_number", [DROP] = "drop_message", [USER] = "change" }

local function reserved(kind, word, tree, udt)
    if kind == USER then
        tree:add(field.subtype, word)
    elseif kind == ACK and not udt then
        tree:add(field.ece, word)
        tree:add(field.nect, word)
    elseif kind == SHUTDOWN and not udt then
        tree:add(field.answers, word)
        tree:add(field.gone, word)
    else
        tree:add(field.reserved, word)
    end
end

local function name_of(kind, bytes, subtype, udt)
    if kind == USER then
        return (subtype ~= ACCURATE_ACK or udt) and SUBTYPES[subtype] or nil
    elseif kind == ACK and bytes == 4 then
        return "Light ACK"
    end
    return TYPES[kind]
end

-- Adds a control packet to the tree; returns its name, or nil where it is malformed.
local function control(packet, tree, udt)
    local kind, subtype = math.floor(without_top_bit(packet(0, 4):uint()) / 0x10000), packet(2, 2):uint()
    tree:add(field.type, packet(0, 4))
    reserved(kind, packet(0, 4), tree, udt)
    local accurate = udt and kind == USER and subtype == ACCURATE_ACK
    tree:add(field[accurate and "arrived" or INFORMATION[kind] or "information"], packet(4, 4))
    tree:add(field.timestamp, packet(8, 4))
    tree:add(field.destination, packet(12, 4))
    if kind == HANDSHAKE then
        return handshake(packet, tree) and TYPES[kind] or nil
    end
    local at = udt and 16 or 20
    if packet:len() < at then
        return nil
    end
    if not udt then
        tree:add(control_obs, packet(16, 4))
        tree:add(field.number, packet(16, 4))
    end
    local whole = (accurate and accurate_ack or BODIES[kind] or bare)(packet, at, tree)
    return whole and name_of(kind, packet:len() - at, subtype, udt) or nil
end

local function data(packet, tree, udt)
    tree:add(field.sequence, packet(0, 4))
    tree:add(field.place, packet(4, 4))
    tree:add(field.in_order, packet(4, 4))
    if udt then
        tree:add(plain_message, packet(4, 4))
    else
        tree:add(data_obs, packet(4, 4))
        tree:add(field.cwr, packet(4, 4))
        tree:add(field.message, packet(4, 4))
    end
    tree:add(field.timestamp, packet(8, 4))
    tree:add(field.destination, packet(12, 4))
    if packet:len() == 16 then
        return nil
    end
    tree:add(field.payload, packet(16))
    return "Data " .. packet(0, 4):uint()
end

function dcudp.dissector(packet, info, root)
    if packet:len() < 16 then
        return 0
    end
    local tree = root:add(dcudp, packet())
    tree:add(field.control, packet(0, 4))
    local udt = is_plain(packet, info)
    info.cols.protocol = udt and "UDT" or "DCUDP"
    local dissect = top_bit(packet(0, 4):uint()) and control or data
    local name = dissect(packet, tree, udt)
    if not name then
        tree:add_proto_expert_info(malformed)
    end
    info.cols.info = name or "Malformed"
    return packet:len()
end

-- A handshake with an extension takes over its conversation.
local function recognise(packet, info, root)
    local is = packet:len() == 64 and packet(0, 4):uint() == 0x80000000 and packet(16, 4):uint() == 4
    local magic = is and packet(52, 4):uint()
    if magic ~= MAGIC and magic ~= ACCURATE_MAGIC then
        return false
    end
    info.conversation = dcudp
    dcudp.dissector(packet, info, root)
    return true
end

dcudp:register_heuristic("udp", recognise)

local by_port = DissectorTable.get("udp.port")
by_port:add_for_decode_as(dcudp)
local ports = ""

function dcudp.prefs_changed()
    if ports ~= "" then
        by_port:remove(ports, dcudp)
    end
    ports = dcudp.prefs.ports
    if ports ~= "" then
        by_port:add(ports, dcudp)
    end
end
